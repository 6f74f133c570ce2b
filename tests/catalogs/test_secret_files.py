"""The files with the passwords of catalogs: who can read them, what their names tell, and when they are gone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from paimon_spark.catalogs.secret_files import kept_secrets, read_secrets
from paimon_spark.errors import OptionError

SECRETS = {"jdbc.password": "geheim", "uri": "jdbc:postgresql://db/x"}


def test_one_file_for_the_same_options() -> None:
    path = kept_secrets(SECRETS)
    assert kept_secrets(dict(reversed(SECRETS.items()))) == path
    assert kept_secrets({**SECRETS, "jdbc.password": "other"}) != path
    assert read_secrets(path) == SECRETS
    assert (os.stat(path).st_mode & 0o777, os.stat(Path(path).parent).st_mode & 0o777) == (0o600, 0o700)


def test_the_name_tells_nothing_about_a_password() -> None:
    """It goes with options that Spark shows: a digest of a weak password could be guessed."""
    text = json.dumps(dict(sorted(SECRETS.items())))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] not in kept_secrets(SECRETS)


def test_a_file_that_was_removed() -> None:
    path = Path(kept_secrets(SECRETS))
    shutil.rmtree(path.parent)
    with pytest.raises(OptionError, match=r"which is not there: .* or was removed\. Commit there, or open the catalog"):
        read_secrets(str(path))
    assert kept_secrets(SECRETS) == str(path), "the options that know it are good again"
    assert read_secrets(str(path)) == SECRETS


def test_a_directory_that_others_can_enter() -> None:
    """One of that name that somebody makes where the own one was removed gets no password, and gives none."""
    path = Path(kept_secrets(SECRETS))
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    path.parent.chmod(0o777)
    with pytest.raises(OptionError, match=r"cannot be kept in .* Open the catalog in a new process"):
        kept_secrets(SECRETS)
    assert list(path.parent.iterdir()) == []
    path.write_text(json.dumps({**SECRETS, "uri": "jdbc:postgresql://theirs/x"}))
    with pytest.raises(OptionError, match="cannot be kept in"):
        kept_secrets(SECRETS)
    shutil.rmtree(path.parent)
    assert kept_secrets(SECRETS) == str(path)
