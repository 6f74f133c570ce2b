import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Statements of Flink SQL from standard input, in one process, with a batch environment and one for streams.
 *
 * A request is one line of words in base64, separated by blanks: a verb and its arguments. The answer is one line: "ok"
 * or "error", and words in base64. A row is its kind and its values as texts, separated by the character 1; the
 * character 2 is null. Arguments of the program are settings of Flink, key=value.
 */
public class FlinkConsole {
    private final TableEnvironment batch;
    private TableEnvironment streaming;
    private final Configuration settings;
    private final List<String> definitions = new ArrayList<>();
    private final Map<String, JobClient> jobs = new ConcurrentHashMap<>();
    private final Map<String, List<String>> changes = new ConcurrentHashMap<>();
    private final Map<String, String> ends = new ConcurrentHashMap<>();

    private FlinkConsole(Configuration settings) {
        batch = TableEnvironment.create(
                EnvironmentSettings.newInstance().inBatchMode().withConfiguration(settings).build());
        batch.getConfig().set("table.dml-sync", "true"); // of procedures that start a job
        this.settings = settings;
        streaming = streams();
    }

    private TableEnvironment streams() {
        TableEnvironment made = TableEnvironment.create(
                EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());
        definitions.forEach(made::executeSql);
        return made;
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Configuration settings = new Configuration();
        for (String arg : args) {
            int at = arg.indexOf('=');
            settings.setString(arg.substring(0, at), arg.substring(at + 1));
        }
        FlinkConsole console = new FlinkConsole(settings);
        answer(out, true, List.of());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            List<String> words = new ArrayList<>();
            for (String word : line.split(" ", -1)) {
                words.add(new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8));
            }
            try {
                answer(out, true, console.perform(words));
            } catch (Throwable failure) {
                answer(out, false, List.of(text(failure)));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private List<String> perform(List<String> words) throws Exception {
        String name = words.size() > 1 ? words.get(1) : "";
        switch (words.get(0)) {
            case "fresh": // an environment keeps what its jobs were started with, and that of streams begins anew
                streaming = streams();
                return List.of();
            case "set": // of jobs that start from now on
                batch.getConfig().set(name, words.get(2));
                streaming.getConfig().set(name, words.get(2));
                return List.of();
            case "define": // in both environments: a catalog, a temporary table
                batch.executeSql(name);
                streaming.executeSql(name);
                definitions.add(name);
                return List.of();
            case "sql": // to its end
                return rows(batch, name);
            case "bounded": // the same as a stream
                return rows(streaming, name);
            case "start": // a job that goes on
                remember(name, streaming.executeSql(words.get(2)));
                return List.of();
            case "follow": // a query that goes on
                follow(name, words.get(2));
                return List.of();
            case "changes":
                List<String> list = changes.get(name);
                synchronized (list) {
                    return new ArrayList<>(list.subList(Integer.parseInt(words.get(2)), list.size()));
                }
            case "status":
                return List.of(ends.getOrDefault(name, "")); // "" while it runs, "done", or why it failed
            case "await":
                jobs.get(name).getJobExecutionResult().get();
                return List.of();
            case "cancel":
                jobs.remove(name).cancel().get();
                return List.of();
            case "stop":
                return List.of(jobs.remove(name)
                        .stopWithSavepoint(false, words.get(2), SavepointFormatType.CANONICAL).get());
            case "savepoint":
                return List.of(jobs.get(name).triggerSavepoint(words.get(2), SavepointFormatType.CANONICAL).get());
            default:
                throw new IllegalArgumentException(words.get(0));
        }
    }

    private static List<String> rows(TableEnvironment environment, String statement) throws Exception {
        TableResult result = environment.executeSql(statement);
        if (List.of("INSERT", "UPDATE", "DELETE").contains(statement.split(" ", 2)[0])) {
            result.await();
            return List.of();
        }
        List<String> rows = new ArrayList<>();
        try (CloseableIterator<Row> cursor = result.collect()) {
            while (cursor.hasNext()) {
                rows.add(text(cursor.next()));
            }
        }
        return rows;
    }

    private void follow(String name, String query) {
        TableResult result = streaming.executeSql(query);
        remember(name, result);
        List<String> list = new ArrayList<>();
        changes.put(name, list);
        Thread reader = new Thread(() -> {
            try (CloseableIterator<Row> cursor = result.collect()) {
                while (cursor.hasNext()) {
                    String row = text(cursor.next());
                    synchronized (list) {
                        list.add(row);
                    }
                }
            } catch (Throwable failure) {
                ends.putIfAbsent(name, text(failure));
            }
        });
        reader.setDaemon(true);
        reader.start();
    }

    /** The cluster of a job ends with it, so its end is kept here. */
    private void remember(String name, TableResult result) {
        JobClient job = result.getJobClient().get();
        ends.remove(name);
        jobs.put(name, job);
        job.getJobExecutionResult().whenComplete(
                (done, failure) -> ends.put(name, failure == null ? "done" : text(failure)));
    }

    private static String text(Row row) {
        StringBuilder text = new StringBuilder(row.getKind().shortString());
        for (int i = 0; i < row.getArity(); i++) {
            Object value = row.getField(i);
            text.append('\u0001').append(value == null ? "\u0002" : value.toString());
        }
        return text.toString();
    }

    private static String text(Throwable failure) {
        StringBuilder text = new StringBuilder();
        for (Throwable at = failure; at != null; at = at.getCause()) {
            text.append(at).append('\n');
            if (at.getCause() == null) {
                Arrays.stream(at.getStackTrace()).limit(12).forEach(place -> text.append("  ").append(place).append('\n'));
            }
        }
        return text.toString();
    }

    private static void answer(PrintStream out, boolean good, List<String> words) {
        StringBuilder line = new StringBuilder(good ? "ok" : "error");
        for (String word : words) {
            line.append(' ').append(Base64.getEncoder().encodeToString(word.getBytes(StandardCharsets.UTF_8)));
        }
        out.println(line);
        out.flush();
    }
}
