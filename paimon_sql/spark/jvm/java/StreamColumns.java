import java.util.*;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import scala.Function2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A rule of Spark's optimizer that pushes the columns and filters of a batch down to streams.
 *
 * Spark pushes neither down to the sources of streams. A Paimon scan is a Function2 of the names of columns and of filters.
 * It returns a scan of these columns that may leave out rows. The filters remain in the plan.
 */
public class StreamColumns {
  public static class Pruned extends Rule {
    public TreeNode apply(TreeNode plan) { return rewritten((LogicalPlan) plan); }

    private LogicalPlan rewritten(LogicalPlan plan) {
      List chain = new ArrayList();
      LogicalPlan leaf = plan;
      if (leaf instanceof Project) { chain.add(leaf); leaf = ((Project) leaf).child(); }
      while (leaf instanceof Filter) { chain.add(leaf); leaf = ((Filter) leaf).child(); }
      if (leaf instanceof StreamingDataSourceV2ScanRelation) {
        StreamingDataSourceV2ScanRelation source = (StreamingDataSourceV2ScanRelation) leaf;
        if (!(source.scan() instanceof Function2) || needsAll(source, chain)) return plan;
        return above(chain, narrowed(source, chain, plan instanceof Project));
      }
      boolean differs = false;
      List children = new ArrayList();
      for (Object child : CollectionConverters.asJava((Seq) plan.children())) {
        LogicalPlan made = rewritten((LogicalPlan) child);
        differs = differs || made != child;
        children.add(made);
      }
      return differs ? (LogicalPlan) plan.withNewChildren(seq(children)) : plan;
    }

    /** Whether the plan above a stream keeps all columns and rows. */
    private boolean needsAll(StreamingDataSourceV2ScanRelation source, List chain) {
      for (Object member : chain) if (member instanceof Filter) return false;
      if (chain.isEmpty()) return true;
      for (Object attribute : CollectionConverters.asJava((Seq) source.output()))
        if (!((LogicalPlan) chain.get(0)).references().contains((NamedExpression) attribute)) return false;
      return true;
    }

    private LogicalPlan narrowed(StreamingDataSourceV2ScanRelation source, List chain, boolean prunes) {
      List output = new ArrayList(), names = new ArrayList(), filters = new ArrayList();
      for (Object member : chain) if (member instanceof Filter) split(((Filter) member).condition(), filters);
      for (Object attribute : CollectionConverters.asJava((Seq) source.output())) {
        boolean needed = !prunes;
        for (Object member : chain) needed = needed || ((LogicalPlan) member).references().contains((NamedExpression) attribute);
        if (needed) output.add(attribute);
      }
      if (output.isEmpty()) output.add(source.output().head());  // rows without columns would lose their count
      for (Object attribute : output) names.add(((AttributeReference) attribute).name());
      Scan scan = (Scan) ((Function2) source.scan()).apply(seq(names), seq(filters));
      return source.copy(source.relation(), scan, seq(output), scan.toMicroBatchStream(""), source.startOffset(), source.endOffset());
    }

    private LogicalPlan above(List chain, LogicalPlan leaf) {
      LogicalPlan made = leaf;
      for (int i = chain.size() - 1; i >= 0; i--)
        made = (LogicalPlan) ((LogicalPlan) chain.get(i)).withNewChildren(seq(Collections.singletonList(made)));
      return made;
    }

    private void split(Expression condition, List filters) {
      if (!(condition instanceof And)) { filters.add(condition); return; }
      split(((And) condition).left(), filters);
      split(((And) condition).right(), filters);
    }

    private static Seq seq(List members) { return CollectionConverters.asScala(members).toSeq(); }
  }

  /** Add the rule after the session's other rules, once. */
  public void addTo(ExperimentalMethods methods) {
    List rules = new ArrayList(CollectionConverters.asJava(methods.extraOptimizations()));
    for (Object known : rules) if (((Rule) known).ruleName().equals(new Pruned().ruleName())) return;
    rules.add(new Pruned());
    methods.extraOptimizations_$eq(Pruned.seq(rules));
  }
}
