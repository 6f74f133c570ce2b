"""A cluster of Flink whose processes can be killed one by one: a job manager, and task managers with a slot each."""

from __future__ import annotations

import subprocess
from pathlib import Path

from flink_session import compile_linked_files, java_with_flink
from support.servers.storage import free_port

JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
SETTINGS = {
    "jobmanager.rpc.address": "127.0.0.1",
    "jobmanager.bind-host": "127.0.0.1",
    "taskmanager.host": "127.0.0.1",
    "taskmanager.bind-host": "127.0.0.1",
    "rest.address": "127.0.0.1",
    "rest.bind-address": "127.0.0.1",
    "taskmanager.cpu.cores": "1.0",
    "taskmanager.numberOfTaskSlots": "1",
    "taskmanager.memory.framework.heap.size": "128m",
    "taskmanager.memory.framework.off-heap.size": "64m",
    "taskmanager.memory.task.heap.size": "512m",
    "taskmanager.memory.task.off-heap.size": "0m",
    "taskmanager.memory.managed.size": "32m",
    "taskmanager.memory.network.min": "32m",
    "taskmanager.memory.network.max": "32m",
    "taskmanager.memory.jvm-metaspace.size": "256m",
    "taskmanager.memory.jvm-overhead.min": "64m",
    "taskmanager.memory.jvm-overhead.max": "64m",
    "heartbeat.interval": "1 s",
    "heartbeat.timeout": "6 s",
    "heartbeat.rpc-failure-threshold": "1",
    "resourcemanager.previous-worker.recovery.timeout": "0 s",
    "execution.checkpointing.storage": "filesystem",
    "execution.checkpointing.num-retained": "2",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
}


class FlinkCluster:
    """The processes, which are started and killed one by one; `settings` and `classes` lead a session of Flink to them.

    They have the file system `linked`, because on that of `file` two processes of Java that commit at once may lose a
    commit.
    """

    def __init__(self, folder: Path, task_managers: int) -> None:
        self.folder, self.checkpoints = folder, folder / "checkpoints"
        with free_port() as rpc, free_port() as rest:
            pass
        folder.mkdir()
        self.classes = folder / "classes"
        compile_linked_files(self.classes)
        given = {
            **SETTINGS,
            "jobmanager.rpc.port": str(rpc),
            "rest.port": str(rest),
            "rest.bind-port": str(rest),
            "io.tmp.dirs": str(folder),
            "execution.checkpointing.dir": self.checkpoints.as_uri(),
        }
        (folder / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in given.items()))
        self.settings = {
            "execution.target": "remote",
            "rest.address": "127.0.0.1",
            "rest.port": str(rest),
            "jobmanager.rpc.address": "127.0.0.1",
            "jobmanager.rpc.port": str(rpc),
            "execution.checkpointing.dir": self.checkpoints.as_uri(),
            **{key: value for key, value in SETTINGS.items() if key.startswith("execution.")},
        }
        self.job_manager = self._start(JOB_MANAGER, 512)
        self.task_managers = [self._start(TASK_MANAGER, 700) for _ in range(task_managers)]

    def kill_job_manager(self) -> None:
        """Kills the job manager with the jobs, and starts another one; task managers find it by themselves."""
        _end(self.job_manager)
        self.job_manager = self._start(JOB_MANAGER, 512)

    def kill_task_manager(self, number: int) -> None:
        """Kills a task manager, and starts another one."""
        _end(self.task_managers[number])
        self.task_managers[number] = self._start(TASK_MANAGER, 700)

    def failure(self) -> str:
        """Which process ended by itself; empty: none."""
        ended = [p for p in (self.job_manager, *self.task_managers) if p.poll() is not None]
        return f"{ended[0].args} ended with {ended[0].returncode}" if ended else ""

    def newest_checkpoint(self) -> str:
        """Where the newest checkpoint that is complete lies."""
        found = [path.parent for path in self.checkpoints.glob("*/chk-*/_metadata")]
        return max(found, key=lambda path: (path.stat().st_mtime_ns, path.name)).as_uri()

    def close(self) -> None:
        for process in (*self.task_managers, self.job_manager):
            _end(process)

    def _start(self, main: str, megabytes: int) -> subprocess.Popen[bytes]:
        words = [*java_with_flink(megabytes, self.classes), main, "--configDir", str(self.folder)]
        with (self.folder / "cluster.log").open("ab") as log:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
