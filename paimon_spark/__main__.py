"""``python -m paimon_spark``: the program ``paimon-spark``."""

from paimon_spark.cli.program import main

if __name__ == "__main__":
    main()
