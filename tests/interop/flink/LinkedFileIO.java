import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;

import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.FileIOLoader;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;

/**
 * A local disk, by the scheme linked, on which a rename never replaces a file, whichever process made it: as on HDFS.
 *
 * That of file looks whether the file is there, and then renames, under a lock of its own process.
 */
public class LinkedFileIO extends LocalFileIO {
    @Override
    public boolean rename(Path from, Path to) throws IOException {
        if (!toFile(from).isFile()) {
            return super.rename(from, to);
        }
        toFile(to).getParentFile().mkdirs();
        try {
            Files.createLink(toFile(to).toPath(), toFile(from).toPath());
        } catch (FileAlreadyExistsException | NoSuchFileException there) {
            return false;
        }
        Files.delete(toFile(from).toPath());
        return true;
    }

    /** Found by META-INF/services. */
    public static class Loader implements FileIOLoader {
        @Override
        public String getScheme() {
            return "linked";
        }

        @Override
        public FileIO load(Path path) {
            return new LinkedFileIO();
        }
    }
}
