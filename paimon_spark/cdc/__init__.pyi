from paimon_spark.cdc.batches.routing import TableNames as TableNames
from paimon_spark.spark.cdc.decode import decode as decode
