import java.io.File;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.TableWrite;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.LocalZonedTimestampType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.TimestampType;

/**
 * The tables of one version of Paimon's Java: `java Zoo WAREHOUSE EXPECTED`. It makes them in the database `zoo`, reads
 * each at every snapshot, tag and branch, and writes the rows to the file EXPECTED as JSON. It compiles against every
 * version from 0.4 on; what came later is called by name, and a table that the version cannot make is left out.
 *
 * <p>`java Zoo --read WAREHOUSE FOUND` reads each table of the database `zoo` as it is, and writes to the file FOUND the
 * rows of each, or the text of the error.
 */
public final class Zoo {
    private static int nextId; // 0.4 refuses nested columns whose ids are given twice
    private static final String[] FORMATS = {"orc", "parquet", "avro"};
    private final Catalog catalog;
    private final Path warehouse;
    private final Map<String, Object> tables = new TreeMap<>();
    private final Map<String, Object> leftOut = new TreeMap<>();

    private Zoo(Path warehouse) throws Exception {
        this.warehouse = warehouse;
        Options options = new Options();
        options.set("warehouse", warehouse.toUri().toString());
        catalog = CatalogFactory.createCatalog(CatalogContext.create(options));
        catalog.createDatabase("zoo", true);
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("--read")) {
            Map<String, Object> found = new Zoo(Paths.get(arguments[1]).toAbsolutePath()).readAll();
            Files.write(Paths.get(arguments[2]), json(found).getBytes(StandardCharsets.UTF_8));
            return;
        }
        Zoo zoo = new Zoo(Paths.get(arguments[0]).toAbsolutePath());
        zoo.appendTables();
        zoo.keyedTables();
        zoo.engines();
        zoo.shapes();
        zoo.versions();
        Map<String, Object> all = new TreeMap<>();
        all.put("tables", zoo.tables);
        all.put("left_out", zoo.leftOut);
        Files.write(Paths.get(arguments[1]), json(all).getBytes(StandardCharsets.UTF_8));
    }

    /** Of each table its rows, or the text of the error. */
    private Map<String, Object> readAll() throws Exception {
        Map<String, Object> found = new TreeMap<>();
        for (String name : catalog.listTables("zoo")) {
            try {
                found.put(name, new Made(name).rows());
            } catch (Throwable e) {
                found.put(name, text(e));
            }
        }
        return found;
    }

    // the tables

    private void appendTables() {
        RowType plain = row("id", DataTypes.INT(), "v", DataTypes.STRING());
        make("app_default", t -> {
            t.create(plain, "", "");
            t.write(r(1, "a"), r(2, null)).write(r(3, "c")).write(r(4, "d"), r(5, "e"));
        });
        make("app_three_buckets", t -> {
            t.create(plain, "", "", "bucket", "3");
            t.write(r(1, "a"), r(2, "b"), r(3, "c")).write(r(4, "d"), r(5, null));
        });
        make("app_bucket_key", t -> {
            t.create(plain, "", "", "bucket", "2", "bucket-key", "id");
            t.write(r(1, "a"), r(2, "b"), r(3, "c")).write(r(4, "d"), r(5, null));
        });
        make("app_changelog", t -> {
            t.create(plain, "", "", "write-mode", "change-log", "bucket", "1");
            t.write(r(1, "a"), r(2, "b"), r(2, "b")).write(minus(1, "a"), r(3, "c"));
        });
        make("types_avro_millis", t -> {
            RowType millis = new RowType(types().getFields().subList(0, types().getFieldCount() - 5));
            t.create(millis, "", "", "bucket", "-1", "file.format", "avro");
            t.write(firstOf(typed(1), millis)).write(r(new Object[millis.getFieldCount()]), firstOf(typed(-2), millis));
        });
        for (String format : FORMATS) {
            make("app_part_" + format, t -> {
                t.create(
                        row("id", DataTypes.INT(), "v", DataTypes.DOUBLE(), "d", DataTypes.DATE(), "p", DataTypes.STRING()),
                        "", "d,p", "bucket", "-1", "file.format", format);
                t.write(r(1, 1.5, 19723, "x"), r(2, null, 19723, "y z"), r(3, -0.0, null, "x"));
                t.write(r(4, 4.5, -1, "ä/=%"), r(5, 5.5, 19723, null));
                t.overwrite(Collections.singletonMap("p", "y z"), r(6, 6.5, 19723, "y z"));
            });
            make("types_" + format, t -> {
                t.create(types(), "", "", "bucket", "-1", "file.format", format);
                t.write(typed(1)).write(r(new Object[types().getFieldCount()]), typed(-2));
            });
            make("nested_" + format, t -> {
                t.create(nested(), "", "", "bucket", "-1", "file.format", format);
                t.write(r(1, map("a", 1, "b", null), list("x", null), r(7, "seven"), map("m", r(1, "one"))));
                t.write(r(2, null, null, null, null), r(3, map(), list(), r(null, null), map("n", null)));
            });
            make("altered_" + format, t -> {
                t.create(
                        row("id", DataTypes.INT(), "v", DataTypes.STRING(), "gone", DataTypes.INT()),
                        "", "", "bucket", "-1", "file.format", format);
                t.write(r(1, "a", 10));
                t.alter(SchemaChange.addColumn("w", DataTypes.BIGINT())).write(r(2, "b", 20, 200L));
                t.alter(SchemaChange.renameColumn("v", "text"), SchemaChange.dropColumn("gone")).write(r(3, "c", 300L));
                t.alter(SchemaChange.updateColumnType("id", DataTypes.BIGINT())).write(r(1L << 40, "d", null));
            });
        }
    }

    private void keyedTables() {
        RowType keyed = row("id", DataTypes.INT(), "v", DataTypes.STRING(), "n", DataTypes.BIGINT());
        for (String format : FORMATS) {
            make("pk_" + format, t -> {
                t.create(keyed, "id", "", "bucket", "2", "file.format", format);
                t.write(r(1, "a", 1L), r(2, "b", 2L), r(3, "c", null)).write(r(2, "B", 22L), r(4, null, 4L));
                t.write(minus(1, "a", 1L), r(5, "e", 5L));
            });
            make("pk_compacted_" + format, t -> {
                t.create(keyed, "id", "", "bucket", "1", "file.format", format);
                t.write(r(1, "a", 1L), r(2, "b", 2L)).write(minus(1, "a", 1L), r(3, "c", 3L)).compact();
                t.write(r(3, "C", 33L), minus(2, "b", 2L));
            });
            make("pk_types_" + format, t -> {
                t.create(keyTypes(), "k,s,dec,ts", "", "bucket", "2", "file.format", format);
                t.write(keyRow(1, "one"), keyRow(2, "two")).write(keyRow(1, "eins"), keyRow(-3, "minus"));
            });
            make("pk_altered_" + format, t -> {
                t.create(keyed, "id", "", "bucket", "1", "file.format", format);
                t.write(r(1, "a", 1L), r(2, "b", 2L));
                t.alter(SchemaChange.addColumn("w", DataTypes.DOUBLE())).write(r(2, "B", 22L, 2.5), r(3, "c", 3L, 3.5));
                t.alter(SchemaChange.dropColumn("n"), SchemaChange.renameColumn("v", "text")).write(r(3, "C", 33.5));
            });
        }
        make("pk_part", t -> {
            t.create(
                    row("id", DataTypes.INT(), "v", DataTypes.STRING(), "d", DataTypes.DATE(), "h", DataTypes.INT()),
                    "id,d,h", "d,h", "bucket", "1");
            t.write(r(1, "a", 19723, 0), r(2, "b", 19723, 1), r(1, "c", 19724, 0)).write(r(1, "A", 19723, 0));
            t.write(minus(2, "b", 19723, 1)).overwrite(Collections.singletonMap("h", "0"), r(9, "z", 19724, 0));
        });
        make("pk_dynamic", t -> {
            t.create(keyed, "id", "", "bucket", "-1");
            t.writeTo(0, r(1, "a", 1L), r(2, "b", 2L)).writeTo(0, r(2, "B", 22L), r(3, "c", 3L));
        });
        make("pk_sequence", t -> {
            t.create(keyed, "id", "", "bucket", "1", "sequence.field", "n");
            t.write(r(1, "late", 9L), r(2, "b", 2L)).write(r(1, "early", 3L), r(2, "B", 2L));
        });
        make("pk_index", t -> {
            t.create(keyed, "id", "", "bucket", "1", "file-index.bloom-filter.columns", "v", "file-index.bitmap.columns", "n");
            t.write(r(1, "a", 1L), r(2, "b", 2L)).write(r(3, "c", 3L)).compact();
        });
        make("pk_vectors", t -> {
            t.create(keyed, "id", "", "bucket", "1", "deletion-vectors.enabled", "true");
            t.write(r(1, "a", 1L), r(2, "b", 2L), r(3, "c", 3L)).compact();
            t.write(r(2, "B", 22L), minus(1, "a", 1L)).compact();
        });
        make("pk_input", t -> {
            t.create(keyed, "id", "", "bucket", "1", "changelog-producer", "input");
            t.write(r(1, "a", 1L), r(2, "b", 2L)).write(before(2, "b", 2L), after(2, "B", 22L)).write(minus(1, "a", 1L));
        });
        make("pk_full_compaction", t -> {
            t.create(keyed, "id", "", "bucket", "1", "changelog-producer", "full-compaction");
            t.write(r(1, "a", 1L), r(2, "b", 2L)).compact().write(r(2, "B", 22L), minus(1, "a", 1L)).compact();
        });
        make("pk_lookup", t -> {
            t.create(keyed, "id", "", "bucket", "1", "changelog-producer", "lookup");
            t.write(r(1, "a", 1L), r(2, "b", 2L)).write(r(2, "B", 22L), minus(1, "a", 1L)).compact();
        });
    }

    private void engines() {
        RowType sums = row("k", DataTypes.INT(), "s", DataTypes.BIGINT(), "m", DataTypes.STRING(), "l", DataTypes.STRING());
        make("me_aggregation", t -> {
            t.create(sums, "k", "", "bucket", "1", "merge-engine", "aggregation", "fields.s.aggregate-function", "sum",
                    "fields.m.aggregate-function", "max", "fields.l.aggregate-function", "last_non_null_value");
            t.write(r(1, 1L, "a", "x"), r(2, 5L, null, null)).write(r(1, 2L, "b", null), r(2, null, "q", "y")).compact();
            t.write(r(1, 10L, "aa", "z"));
        });
        make("me_listagg", t -> {
            t.create(sums, "k", "", "bucket", "1", "merge-engine", "aggregation", "fields.s.aggregate-function", "sum",
                    "fields.m.aggregate-function", "listagg", "fields.l.aggregate-function", "first_value");
            t.write(r(1, 1L, "a", "x")).write(r(1, 2L, "b", "y")).write(r(1, 3L, null, "z"));
        });
        make("me_partial_update", t -> {
            t.create(sums, "k", "", "bucket", "1", "merge-engine", "partial-update");
            t.write(r(1, 1L, null, "x")).write(r(1, null, "m", null), r(2, 2L, null, null)).write(r(2, null, "n", "y"));
        });
        make("me_sequence_group", t -> {
            t.create(sums, "k", "", "bucket", "1", "merge-engine", "partial-update", "fields.s.sequence-group", "m,l");
            t.write(r(1, 5L, "new", "new")).write(r(1, 3L, "old", "old"), r(2, 1L, "a", null)).write(r(2, 2L, null, "b"));
        });
        make("me_first_row", t -> {
            t.create(sums, "k", "", "bucket", "1", "merge-engine", "first-row", "changelog-producer", "lookup");
            t.write(r(1, 1L, "first", null)).compact().write(r(1, 2L, "second", null), r(2, 2L, "b", null)).compact();
        });
        make("me_nested_update", t -> {
            DataType rows = new ArrayType(row("a", DataTypes.INT(), "b", DataTypes.STRING()));
            t.create(row("k", DataTypes.INT(), "rows", rows), "k", "", "bucket", "1", "merge-engine", "aggregation",
                    "fields.rows.aggregate-function", "nested_update", "fields.rows.nested-key", "a");
            t.write(r(1, list(r(1, "one"), r(2, "two")))).write(r(1, list(r(3, "three"), r(1, "eins"))));
        });
        make("me_collect", t -> {
            t.create(row("k", DataTypes.INT(), "c", new ArrayType(DataTypes.STRING())), "k", "", "bucket", "1",
                    "merge-engine", "aggregation", "fields.c.aggregate-function", "collect", "fields.c.distinct", "true");
            t.write(r(1, list("x"))).write(r(1, list("y", "x")), r(2, list("z")));
        });
    }

    private void shapes() {
        RowType keyed = row("id", DataTypes.INT(), "v", DataTypes.STRING());
        for (String format : FORMATS) {
            make("manifest_" + format, t -> {
                t.create(keyed, "id", "", "bucket", "1", "manifest.format", format);
                t.write(r(1, "a")).write(r(2, "b"), r(1, "A")).write(minus(2, "b"));
            });
        }
        make("many_manifests", t -> {
            t.create(keyed, "", "", "bucket", "-1", "manifest.merge-min-count", "3", "manifest.target-file-size", "1 kb");
            for (int i = 0; i < 8; i++) {
                t.write(r(i, "v" + i));
            }
        });
        make("expired", t -> {
            t.create(keyed, "id", "", "bucket", "1", "snapshot.num-retained.min", "2", "snapshot.num-retained.max", "2");
            t.write(r(1, "a")).write(r(2, "b")).compact().write(r(3, "c")).compact().write(r(1, "A")).compact();
        });
        make("no_statistics", t -> {
            t.create(keyed, "", "", "bucket", "-1", "metadata.stats-mode", "none");
            t.write(r(1, "a")).write(r(2, null));
        });
        make("codecs", t -> {
            t.create(keyed, "", "", "bucket", "-1", "file.format", "orc", "orc.compress", "zlib");
            t.write(r(1, "a")).write(r(2, "b"));
        });
        make("empty", t -> t.create(keyed, "id", "", "bucket", "1"));
        make("big_text", t -> {
            t.create(keyed, "", "", "bucket", "-1");
            t.write(r(1, "x".repeat(300)), r(2, "ä".repeat(40) + "\ud83d\ude00"));
        });
    }

    private void versions() {
        RowType keyed = row("id", DataTypes.INT(), "v", DataTypes.STRING());
        make("tagged", t -> {
            t.create(keyed, "id", "", "bucket", "1");
            t.write(r(1, "a")).call("createTag", "first", 1L);
            t.write(r(2, "b"), r(1, "A")).call("createTag", "second", 2L);
            t.write(minus(1, "A"));
        });
        make("branched", t -> {
            t.create(keyed, "id", "", "bucket", "1");
            t.write(r(1, "a")).call("createTag", "base", 1L);
            t.call("createBranch", "side", "base");
            t.write(r(2, "main"));
            t.onBranch("side").write(r(2, "side"), r(1, "A"));
        });
    }

    private static RowType types() {
        return row(
                "id", DataTypes.INT(), "b", DataTypes.BOOLEAN(), "i8", DataTypes.TINYINT(), "i16", DataTypes.SMALLINT(),
                "i64", DataTypes.BIGINT(), "f32", DataTypes.FLOAT(), "f64", DataTypes.DOUBLE(),
                "dec", DataTypes.DECIMAL(10, 2), "wide", DataTypes.DECIMAL(30, 5), "c", DataTypes.CHAR(5),
                "vc", DataTypes.VARCHAR(20), "s", DataTypes.STRING(), "bin", DataTypes.BYTES(), "d", DataTypes.DATE(),
                "t", DataTypes.TIME(), "ts0", new TimestampType(0), "ts3", new TimestampType(3), "ts6", new TimestampType(6),
                "ltz3", new LocalZonedTimestampType(3), "ltz6", new LocalZonedTimestampType(6));
    }

    private static GenericRow typed(int sign) {
        Timestamp micros = Timestamp.fromEpochMillis(sign * 1_700_000_000_123L, 456_000);
        return r(
                sign, sign > 0, (byte) (sign * 7), (short) (sign * 300), sign * (1L << 40), sign * 1.25f, sign * 1e100,
                new BigDecimal("12345.67").multiply(BigDecimal.valueOf(sign)),
                new BigDecimal("1234567890123456789.12345").multiply(BigDecimal.valueOf(sign)),
                "abcde", "vär", "text " + sign, new byte[] {0, 1, (byte) 0xff}, sign * 1000, 3_600_000,
                Timestamp.fromEpochMillis(sign * 1_700_000_000_000L), Timestamp.fromEpochMillis(sign * 1_700_000_000_123L),
                micros, Timestamp.fromEpochMillis(sign * 1_600_000_000_123L), micros);
    }

    private static GenericRow firstOf(GenericRow row, RowType type) {
        Object[] values = new Object[type.getFieldCount()];
        for (int i = 0; i < values.length; i++) {
            values[i] = row.getField(i);
        }
        return GenericRow.of(values);
    }

    private static RowType keyTypes() {
        return row(
                "k", DataTypes.BIGINT(), "s", DataTypes.STRING(), "dec", DataTypes.DECIMAL(20, 3), "ts", new TimestampType(6),
                "v", DataTypes.STRING());
    }

    private static GenericRow keyRow(int n, String v) {
        return r((long) n, "key " + n, new BigDecimal(n + ".125"), Timestamp.fromEpochMillis(n * 1000L, 1000), v);
    }

    private static RowType nested() {
        return row(
                "id", DataTypes.INT(), "m", new MapType(DataTypes.STRING().notNull(), DataTypes.INT()),
                "l", new ArrayType(DataTypes.STRING()), "r", row("a", DataTypes.INT(), "b", DataTypes.STRING()),
                "mr", new MapType(DataTypes.STRING().notNull(), row("x", DataTypes.INT(), "y", DataTypes.STRING())));
    }

    // a table that is made

    private interface Steps {
        void run(Made table) throws Exception;
    }

    private void make(String name, Steps steps) {
        try {
            Made made = new Made(name);
            steps.run(made);
            tables.put(name, made.read());
        } catch (Throwable e) {
            leftOut.put(name, text(e));
            delete(warehouse.resolve("zoo.db").resolve(name).toFile());
        }
    }

    /** The text of the first cause. */
    private static String text(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return String.valueOf(root);
    }

    private final class Made {
        private final String name;
        private final Path folder;
        private String suffix = "";

        private Made(String name) {
            this.name = name;
            this.folder = warehouse.resolve("zoo.db").resolve(name);
        }

        private Table table() throws Exception {
            return catalog.getTable(new Identifier("zoo", name + suffix));
        }

        void create(RowType type, String keys, String partitions, String... options) throws Exception {
            Schema.Builder builder = Schema.newBuilder();
            for (DataField field : type.getFields()) {
                builder.column(field.name(), field.type());
            }
            builder.primaryKey(names(keys)).partitionKeys(names(partitions)).options(mapOf(options));
            catalog.createTable(new Identifier("zoo", name), builder.build(), false);
        }

        Made alter(SchemaChange... changes) throws Exception {
            catalog.alterTable(new Identifier("zoo", name), Arrays.asList(changes), false);
            return this;
        }

        Made write(GenericRow... rows) throws Exception {
            return commit(table().newBatchWriteBuilder(), -1, rows);
        }

        Made writeTo(int bucket, GenericRow... rows) throws Exception {
            return commit(table().newBatchWriteBuilder(), bucket, rows);
        }

        Made overwrite(Map<String, String> partition, GenericRow... rows) throws Exception {
            return commit(table().newBatchWriteBuilder().withOverwrite(partition), -1, rows);
        }

        private Made commit(BatchWriteBuilder builder, int bucket, GenericRow... rows) throws Exception {
            RowType type = table().rowType();
            try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
                write.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                for (GenericRow row : rows) {
                    InternalRow stored = (InternalRow) stored(row, type);
                    if (bucket < 0) {
                        write.write(stored);
                    } else {
                        writeToBucket(write, stored, bucket);
                    }
                }
                commit.commit(write.prepareCommit());
            }
            return this;
        }

        /** Compacts every bucket, fully. */
        Made compact() throws Exception {
            Table compacted = table().copy(Collections.singletonMap("write-only", "false"));
            BatchWriteBuilder builder = compacted.newBatchWriteBuilder();
            try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
                write.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                write.compact(BinaryRow.EMPTY_ROW, 0, true);
                commit.commit(write.prepareCommit());
            }
            return this;
        }

        /** Calls a method of `Table` that not every version has. */
        Made call(String method, Object... arguments) throws Exception {
            Class<?>[] kinds = Arrays.stream(arguments).map(Zoo::kind).toArray(Class<?>[]::new);
            Table.class.getMethod(method, kinds).invoke(table(), arguments);
            return this;
        }

        Made onBranch(String branch) {
            suffix = "$branch_" + branch;
            return this;
        }

        /** The rows of every snapshot, tag and branch. */
        Map<String, Object> read() throws Exception {
            suffix = "";
            Map<String, Object> all = new TreeMap<>();
            Map<String, Object> snapshots = new TreeMap<>();
            for (String id : numbers(folder.resolve("snapshot"), "snapshot-")) {
                snapshots.put(id, rows("scan.snapshot-id", id));
            }
            Map<String, Object> tags = new TreeMap<>();
            for (String tag : numbers(folder.resolve("tag"), "tag-")) {
                tags.put(tag, rows("scan.tag-name", tag));
            }
            Map<String, Object> branches = new TreeMap<>();
            for (String branch : numbers(folder.resolve("branch"), "branch-")) {
                suffix = "$branch_" + branch;
                branches.put(branch, rows());
                suffix = "";
            }
            all.put("latest", rows());
            all.put("snapshots", snapshots);
            all.put("tags", tags);
            all.put("branches", branches);
            all.put("columns", table().rowType().getFieldNames());
            return all;
        }

        private List<Object> rows(String... options) throws Exception {
            Table table = options.length == 0 ? table() : table().copy(mapOf(options));
            RowType type = table.rowType();
            List<Object> found = new ArrayList<>();
            ReadBuilder builder = table.newReadBuilder();
            try (RecordReader<InternalRow> reader = builder.newRead().createReader(builder.newScan().plan())) {
                reader.forEachRemaining(row -> found.add(shown(row, type)));
            }
            found.sort(Comparator.comparing(Zoo::json));
            return found;
        }
    }

    private static Class<?> kind(Object value) {
        return value instanceof Long ? long.class : value.getClass();
    }

    /** 0.5 to 0.7 have a class for rows of a bucket that the caller chose; later versions a method. */
    private static void writeToBucket(BatchTableWrite write, InternalRow row, int bucket) throws Exception {
        try {
            TableWrite.class.getMethod("write", InternalRow.class, int.class).invoke(write, row, bucket);
        } catch (NoSuchMethodException older) {
            Class<?> kind = Class.forName("org.apache.paimon.table.sink.DynamicBucketRow");
            write.write((InternalRow) kind.getConstructor(InternalRow.class, int.class).newInstance(row, bucket));
        }
    }

    private static List<String> numbers(Path folder, String prefix) throws IOException {
        if (!Files.isDirectory(folder)) {
            return Collections.emptyList();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(p -> p.getFileName().toString())
                    .filter(n -> n.startsWith(prefix))
                    .map(n -> n.substring(prefix.length()))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    private static void delete(File file) {
        File[] inside = file.listFiles();
        if (inside != null) {
            for (File child : inside) {
                delete(child);
            }
        }
        file.delete();
    }

    // values

    private static RowType row(Object... namesAndTypes) {
        List<DataField> fields = new ArrayList<>();
        for (int i = 0; i < namesAndTypes.length; i += 2) {
            fields.add(new DataField(nextId++, (String) namesAndTypes[i], (DataType) namesAndTypes[i + 1]));
        }
        return new RowType(fields);
    }

    private static GenericRow r(Object... values) {
        return GenericRow.of(values);
    }

    private static GenericRow minus(Object... values) {
        return GenericRow.ofKind(RowKind.DELETE, values);
    }

    private static GenericRow before(Object... values) {
        return GenericRow.ofKind(RowKind.UPDATE_BEFORE, values);
    }

    private static GenericRow after(Object... values) {
        return GenericRow.ofKind(RowKind.UPDATE_AFTER, values);
    }

    private static List<Object> list(Object... values) {
        return Arrays.asList(values);
    }

    private static Map<Object, Object> map(Object... keysAndValues) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            map.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        return map;
    }

    private static Map<String, String> mapOf(String... keysAndValues) {
        Map<String, String> map = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            map.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        return map;
    }

    private static List<String> names(String text) {
        return text.isEmpty() ? Collections.emptyList() : Arrays.asList(text.split(","));
    }

    /** A value as Paimon has it in a row. */
    private static Object stored(Object value, DataType type) {
        if (value instanceof String) {
            return BinaryString.fromString((String) value);
        } else if (value instanceof BigDecimal) {
            DecimalType decimal = (DecimalType) type;
            return Decimal.fromBigDecimal((BigDecimal) value, decimal.getPrecision(), decimal.getScale());
        } else if (value instanceof List) {
            DataType element = ((ArrayType) type).getElementType();
            return new GenericArray(((List<?>) value).stream().map(v -> stored(v, element)).toArray());
        } else if (value instanceof Map) {
            MapType kinds = (MapType) type;
            Map<Object, Object> map = new LinkedHashMap<>();
            ((Map<?, ?>) value).forEach(
                    (k, v) -> map.put(stored(k, kinds.getKeyType()), stored(v, kinds.getValueType())));
            return new GenericMap(map);
        } else if (value instanceof GenericRow) {
            GenericRow row = (GenericRow) value;
            GenericRow made = new GenericRow(row.getRowKind(), row.getFieldCount());
            for (int i = 0; i < row.getFieldCount(); i++) {
                made.setField(i, stored(row.getField(i), ((RowType) type).getTypeAt(i)));
            }
            return made;
        }
        return value;
    }

    /** A value of Paimon's as JSON has it: times as numbers of their finest unit, maps as sorted pairs. */
    private static Object shown(Object value, DataType type) {
        if (value instanceof BinaryString) {
            return value.toString();
        } else if (value instanceof Decimal) {
            return ((Decimal) value).toBigDecimal().toPlainString();
        } else if (value instanceof Timestamp) {
            Timestamp time = (Timestamp) value;
            return time.getMillisecond() * 1000 + time.getNanoOfMillisecond() / 1000;
        } else if (value instanceof byte[]) {
            StringBuilder hex = new StringBuilder();
            for (byte b : (byte[]) value) {
                hex.append(String.format("%02x", b));
            }
            return hex.toString();
        } else if (value instanceof InternalArray) {
            InternalArray array = (InternalArray) value;
            DataType element = ((ArrayType) type).getElementType();
            InternalArray.ElementGetter getter = InternalArray.createElementGetter(element);
            List<Object> list = new ArrayList<>();
            for (int i = 0; i < array.size(); i++) {
                list.add(shown(getter.getElementOrNull(array, i), element));
            }
            return list;
        } else if (value instanceof InternalMap) {
            MapType kinds = (MapType) type;
            InternalMap map = (InternalMap) value;
            InternalArray.ElementGetter keys = InternalArray.createElementGetter(kinds.getKeyType());
            InternalArray.ElementGetter values = InternalArray.createElementGetter(kinds.getValueType());
            List<Object> pairs = new ArrayList<>();
            for (int i = 0; i < map.size(); i++) {
                pairs.add(
                        Arrays.asList(
                                shown(keys.getElementOrNull(map.keyArray(), i), kinds.getKeyType()),
                                shown(values.getElementOrNull(map.valueArray(), i), kinds.getValueType())));
            }
            pairs.sort(Comparator.comparing(Zoo::json));
            return pairs;
        } else if (value instanceof InternalRow) {
            List<Object> list = new ArrayList<>();
            List<DataField> fields = ((RowType) type).getFields();
            for (int i = 0; i < fields.size(); i++) {
                DataType field = fields.get(i).type();
                list.add(shown(InternalRow.createFieldGetter(field, i).getFieldOrNull((InternalRow) value), field));
            }
            return list;
        }
        return value;
    }

    private static String json(Object value) {
        if (value instanceof Map) {
            return ((Map<?, ?>) value)
                    .entrySet().stream()
                            .map(e -> json(e.getKey()) + ": " + json(e.getValue()))
                            .collect(Collectors.joining(", ", "{", "}"));
        } else if (value instanceof List) {
            return ((List<?>) value).stream().map(Zoo::json).collect(Collectors.joining(", ", "[", "]"));
        } else if (value instanceof String) {
            StringBuilder text = new StringBuilder("\"");
            for (char c : ((String) value).toCharArray()) {
                text.append(c < 32 || c > 126 || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : c);
            }
            return text.append('"').toString();
        } else if (value instanceof Float) {
            return Double.toString((Float) value);
        }
        return String.valueOf(value);
    }
}
