import java.util.*;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.TypeUtils$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.types.*;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;

/** Rows of small queries of MERGE, DELETE and UPDATE, and the values that they require of columns of the target. */
public class SmallQueries {
  /** Returns the rows of a query, null if they are not few: if statistics expect more than `bytes`, or more than `most` come.
   *  `limited` is the query with a limit of one row more. Without `runs`, rows that are not in the plan are not fetched. */
  public Object rows(Dataset query, Dataset limited, long bytes, int most, boolean runs) {
    LogicalPlan plan = query.queryExecution().optimizedPlan();
    if (!plan.stats().sizeInBytes().isValidLong() || plan.stats().sizeInBytes().toLong() > bytes) return null;
    if (plan instanceof LocalRelation) {
      scala.collection.immutable.Seq known = ((LocalRelation) plan).data();
      return known.size() > most ? null : known;
    }
    if (!runs) return null;
    final QueryExecution execution = limited.queryExecution();
    InternalRow[] found = (InternalRow[]) SQLExecution$.MODULE$.withNewExecutionId(
      execution, Option.apply("rows that a statement changes by"), new AbstractFunction0() {
        public Object apply() { return execution.executedPlan().executeCollect(); }
      });
    return found.length > most ? null : CollectionConverters.asScala(Arrays.asList((Object[]) found)).toSeq();
  }

  /** Returns a condition that each row of the left side of a join fulfills if it matches a row of the right side, a relation
   *  of the driver. Returns null if the join's condition does not lead to one. A column gets at most `most` values. */
  public Expression ofTarget(LogicalPlan plan, int most) {
    if (!(plan instanceof Join) || !(((Join) plan).right() instanceof LocalRelation)) return null;
    Join join = (Join) plan;
    LocalRelation source = (LocalRelation) join.right();
    Expression all = null;
    Deque parts = new ArrayDeque();
    if (join.condition().isDefined()) parts.add(join.condition().get());
    while (!parts.isEmpty()) {
      Expression part = (Expression) parts.pop();
      if (part instanceof And) {
        parts.push((Expression) ((And) part).right());
        parts.push((Expression) ((And) part).left());
        continue;
      }
      if (!(part instanceof EqualTo || part instanceof EqualNullSafe)) continue;
      BinaryComparison equal = (BinaryComparison) part;
      Expression left = (Expression) equal.left(), right = (Expression) equal.right();
      Expression found = required(equal, left, right, join, source, most);
      if (found == null) found = required(equal, right, left, join, source, most);
      if (found != null) all = all == null ? found : new And(all, found);
    }
    return all;
  }

  private static Expression required(
      BinaryComparison equal, Expression column, Expression value, Join join, LocalRelation source, int most) {
    boolean isOfTarget = column.references().nonEmpty() && column.references().subsetOf(join.left().outputSet());
    if (!isOfTarget || value.references().isEmpty() || !value.references().subsetOf(source.outputSet())) return null;
    if (!column.deterministic() || !value.deterministic() || !isPlain(value.dataType())) return null;
    if (!column.dataType().equals(value.dataType())) return null;
    TreeSet values = new TreeSet(TypeUtils$.MODULE$.getInterpretedOrdering(value.dataType()));
    boolean hasNull = false;
    try {
      Expression bound = BindReferences.bindReference(value, package$.MODULE$.AttributeSeq(source.output()), false);
      Iterator rows = CollectionConverters.asJava((scala.collection.Iterable) source.data()).iterator();
      while (rows.hasNext()) {
        Object each = bound.eval((InternalRow) rows.next());
        if (each == null) hasNull = true;
        else values.add(InternalRow.copyValue(each));
      }
    } catch (RuntimeException e) {
      return null;  // the join raises the error, or evaluates what only a query can
    }
    Expression found = among(column, values, most);
    return hasNull && equal instanceof EqualNullSafe ? new Or(found, new IsNull(column)) : found;
  }

  private static Expression among(Expression column, TreeSet values, int most) {
    DataType type = column.dataType();
    if (values.isEmpty()) return new Literal(Boolean.FALSE, DataTypes.BooleanType);
    if (values.size() > most) {
      Expression least = new GreaterThanOrEqual(column, new Literal(values.first(), type));
      return new And(least, new LessThanOrEqual(column, new Literal(values.last(), type)));
    }
    List literals = new ArrayList();
    for (Iterator it = values.iterator(); it.hasNext();) literals.add(new Literal(it.next(), type));
    return new In(column, CollectionConverters.asScala(literals).toSeq());
  }

  /** Returns the parts of a condition that require a value to be among the rows of a query, `a IN (SELECT b …)`. */
  public List queries(Expression condition) {
    List found = new ArrayList();
    if (condition instanceof And) {
      found.addAll(queries((Expression) ((And) condition).left()));
      found.addAll(queries((Expression) ((And) condition).right()));
    } else if (condition instanceof InSubquery) {
      ListQuery query = ((InSubquery) condition).query();
      boolean isOne = ((InSubquery) condition).values().size() == 1 && query.plan().output().size() == 1;
      if (isOne && !query.isCorrelated() && isPlain(query.dataType())) found.add(condition);
    }
    return found;
  }

  /** Returns a condition of rows to keep, with the rows of a query in place of the query. NULL equals no value. Returns null if
   *  the rows have more than `most` values. */
  public Expression withRows(Expression condition, Expression query, scala.collection.immutable.Seq rows, int most) {
    if (condition instanceof And) {
      Expression left = (Expression) ((And) condition).left(), right = (Expression) ((And) condition).right();
      Expression first = withRows(left, query, rows, most), second = withRows(right, query, rows, most);
      return first == null || second == null ? null : new And(first, second);
    }
    if (condition != query) return condition;
    Expression value = (Expression) ((InSubquery) query).values().head();
    DataType type = ((InSubquery) query).query().dataType();
    if (!value.dataType().equals(type)) return null;
    TreeSet values = new TreeSet(TypeUtils$.MODULE$.getInterpretedOrdering(type));
    for (Iterator it = CollectionConverters.asJava((scala.collection.Iterable) rows).iterator(); it.hasNext();) {
      Object each = ((InternalRow) it.next()).get(0, type);
      if (each != null) values.add(InternalRow.copyValue(each));
    }
    return values.size() > most ? null : among(value, values, most);
  }

  /** Whether values of a type are equal exactly if they compare as equal, and can be values of IN. */
  private static boolean isPlain(DataType type) {
    return type instanceof IntegralType || type instanceof DecimalType || type instanceof DateType
      || type instanceof TimestampType || type instanceof TimestampNTZType || type.equals(DataTypes.StringType);
  }
}
