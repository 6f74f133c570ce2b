from paimon_spark.cdc.batches.table_names import TableNames as TableNames
from paimon_spark.spark.cdc.decode import decode as decode
