USE paimon;
CREATE DATABASE m;
USE m;
CREATE TEMPORARY VIEW src_k AS SELECT * FROM VALUES (1, 100, 'c11'), (3, 300, 'c33'), (5, 500, 'c55'), (7, 700, 'c77'), (9, 900, 'c99') AS x(a, b, c);
DROP TABLE IF EXISTS k;
CREATE TABLE k (a INT, b INT, c STRING) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '2');
INSERT INTO k VALUES (1, 10, 'c1'), (2, 20, 'c2'), (3, 30, 'c3'), (4, 40, 'c4'), (5, 50, 'c5');
MERGE INTO k USING src_k ON k.a = src_k.a WHEN MATCHED THEN UPDATE SET a = src_k.a, b = src_k.b + k.b, c = src_k.c WHEN NOT MATCHED THEN INSERT (a, c) VALUES (a, c);
SELECT * FROM k;
MERGE INTO k AS t USING src_k AS s ON t.a = s.a AND t.b > 200 WHEN MATCHED THEN DELETE;
SELECT * FROM k;
DROP TABLE IF EXISTS k;
CREATE TABLE k (a INT, b INT, c STRING) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '2');
INSERT INTO k VALUES (1, 10, 'c1'), (2, 20, 'c2'), (3, 30, 'c3'), (4, 40, 'c4'), (5, 50, 'c5');
MERGE INTO k USING src_k ON k.a = src_k.a
WHEN MATCHED AND k.a = 5 THEN UPDATE SET b = src_k.b + k.b
WHEN MATCHED AND src_k.c > 'c2' THEN UPDATE SET *
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED AND c > 'c9' THEN INSERT (a, b, c) VALUES (a, b * 1.1, c)
WHEN NOT MATCHED THEN INSERT *
WHEN NOT MATCHED BY SOURCE AND a = 2 THEN UPDATE SET b = b * 10
WHEN NOT MATCHED BY SOURCE THEN DELETE;
SELECT * FROM k;
MERGE INTO k USING (SELECT a, b, c FROM k WHERE a > 1) s ON k.a = s.a WHEN MATCHED THEN UPDATE SET c = upper(s.c);
SELECT * FROM k;
MERGE INTO k USING (SELECT 9 AS a, explode(array(1, 2)) AS b) s ON k.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b;
MERGE INTO k USING src_k ON k.a = src_k.a WHEN MATCHED THEN UPDATE SET b = 1, b = 2;
MERGE INTO k USING src_k ON k.a = src_k.a WHEN MATCHED THEN UPDATE SET nope = 1;
MERGE INTO k USING (SELECT a, b FROM src_k) s ON k.a = s.a WHEN MATCHED THEN UPDATE SET *;
MERGE INTO k USING (SELECT a, b, c, 1 AS more FROM src_k) s ON k.a = s.a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM k;
CREATE TEMPORARY VIEW src_p AS SELECT * FROM VALUES (1, 100, 'c11'), (3, 300, 'c33'), (5, 500, 'c55'), (7, 700, 'c77'), (9, 900, 'c99') AS x(a, b, c);
DROP TABLE IF EXISTS p;
CREATE TABLE p (a INT, b INT, c STRING);
INSERT INTO p VALUES (1, 10, 'c1'), (2, 20, 'c2'), (3, 30, 'c3'), (4, 40, 'c4'), (5, 50, 'c5');
MERGE INTO p USING src_p ON p.a = src_p.a WHEN MATCHED THEN UPDATE SET a = src_p.a, b = src_p.b + p.b, c = src_p.c WHEN NOT MATCHED THEN INSERT (a, c) VALUES (a, c);
SELECT * FROM p;
MERGE INTO p AS t USING src_p AS s ON t.a = s.a AND t.b > 200 WHEN MATCHED THEN DELETE;
SELECT * FROM p;
DROP TABLE IF EXISTS p;
CREATE TABLE p (a INT, b INT, c STRING);
INSERT INTO p VALUES (1, 10, 'c1'), (2, 20, 'c2'), (3, 30, 'c3'), (4, 40, 'c4'), (5, 50, 'c5');
MERGE INTO p USING src_p ON p.a = src_p.a
WHEN MATCHED AND p.a = 5 THEN UPDATE SET b = src_p.b + p.b
WHEN MATCHED AND src_p.c > 'c2' THEN UPDATE SET *
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED AND c > 'c9' THEN INSERT (a, b, c) VALUES (a, b * 1.1, c)
WHEN NOT MATCHED THEN INSERT *
WHEN NOT MATCHED BY SOURCE AND a = 2 THEN UPDATE SET b = b * 10
WHEN NOT MATCHED BY SOURCE THEN DELETE;
SELECT * FROM p;
MERGE INTO p USING (SELECT a, b, c FROM p WHERE a > 1) s ON p.a = s.a WHEN MATCHED THEN UPDATE SET c = upper(s.c);
SELECT * FROM p;
MERGE INTO p USING (SELECT 9 AS a, explode(array(1, 2)) AS b) s ON p.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b;
MERGE INTO p USING src_p ON p.a = src_p.a WHEN MATCHED THEN UPDATE SET b = 1, b = 2;
MERGE INTO p USING src_p ON p.a = src_p.a WHEN MATCHED THEN UPDATE SET nope = 1;
MERGE INTO p USING (SELECT a, b FROM src_p) s ON p.a = s.a WHEN MATCHED THEN UPDATE SET *;
MERGE INTO p USING (SELECT a, b, c, 1 AS more FROM src_p) s ON p.a = s.a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM p;
CREATE TEMPORARY VIEW src_v AS SELECT * FROM VALUES (1, 100, 'c11'), (3, 300, 'c33'), (5, 500, 'c55'), (7, 700, 'c77'), (9, 900, 'c99') AS x(a, b, c);
DROP TABLE IF EXISTS v;
CREATE TABLE v (a INT, b INT, c STRING) TBLPROPERTIES ('deletion-vectors.enabled' = 'true');
INSERT INTO v VALUES (1, 10, 'c1'), (2, 20, 'c2'), (3, 30, 'c3'), (4, 40, 'c4'), (5, 50, 'c5');
MERGE INTO v USING src_v ON v.a = src_v.a WHEN MATCHED THEN UPDATE SET a = src_v.a, b = src_v.b + v.b, c = src_v.c WHEN NOT MATCHED THEN INSERT (a, c) VALUES (a, c);
SELECT * FROM v;
MERGE INTO v AS t USING src_v AS s ON t.a = s.a AND t.b > 200 WHEN MATCHED THEN DELETE;
SELECT * FROM v;
DROP TABLE IF EXISTS v;
CREATE TABLE v (a INT, b INT, c STRING) TBLPROPERTIES ('deletion-vectors.enabled' = 'true');
INSERT INTO v VALUES (1, 10, 'c1'), (2, 20, 'c2'), (3, 30, 'c3'), (4, 40, 'c4'), (5, 50, 'c5');
MERGE INTO v USING src_v ON v.a = src_v.a
WHEN MATCHED AND v.a = 5 THEN UPDATE SET b = src_v.b + v.b
WHEN MATCHED AND src_v.c > 'c2' THEN UPDATE SET *
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED AND c > 'c9' THEN INSERT (a, b, c) VALUES (a, b * 1.1, c)
WHEN NOT MATCHED THEN INSERT *
WHEN NOT MATCHED BY SOURCE AND a = 2 THEN UPDATE SET b = b * 10
WHEN NOT MATCHED BY SOURCE THEN DELETE;
SELECT * FROM v;
MERGE INTO v USING (SELECT a, b, c FROM v WHERE a > 1) s ON v.a = s.a WHEN MATCHED THEN UPDATE SET c = upper(s.c);
SELECT * FROM v;
MERGE INTO v USING (SELECT 9 AS a, explode(array(1, 2)) AS b) s ON v.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b;
MERGE INTO v USING src_v ON v.a = src_v.a WHEN MATCHED THEN UPDATE SET b = 1, b = 2;
MERGE INTO v USING src_v ON v.a = src_v.a WHEN MATCHED THEN UPDATE SET nope = 1;
MERGE INTO v USING (SELECT a, b FROM src_v) s ON v.a = s.a WHEN MATCHED THEN UPDATE SET *;
MERGE INTO v USING (SELECT a, b, c, 1 AS more FROM src_v) s ON v.a = s.a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM v;
MERGE INTO k USING src_k s ON k.b = s.b WHEN MATCHED THEN UPDATE SET a = s.a + 1;
CREATE TABLE n (id INT, s STRUCT<x: INT, y: STRING>, z BIGINT);
INSERT INTO n VALUES (1, struct(1, 'a'), 1), (2, NULL, 2), (NULL, struct(3, 'c'), 3);
MERGE INTO n USING (SELECT 1 AS id, named_struct('y', 'new', 'x', 10) AS s, CAST(5 AS INT) AS z UNION ALL SELECT 2, named_struct('y', 'n2', 'x', 20), 6 UNION ALL SELECT CAST(NULL AS INT), NULL, 7) q ON n.id = q.id WHEN MATCHED THEN UPDATE SET n.s.x = q.s.x, z = q.z WHEN NOT MATCHED THEN INSERT *;
SELECT * FROM n;
MERGE INTO n USING (SELECT 1 AS id, named_struct('y', 'star', 'x', 11) AS s, CAST(5 AS INT) AS z) q ON n.id <=> q.id WHEN MATCHED THEN UPDATE SET *;
SELECT * FROM n;
MERGE INTO n USING (SELECT 1 AS id) q ON n.id = q.id WHEN MATCHED THEN UPDATE SET z = 'x';
