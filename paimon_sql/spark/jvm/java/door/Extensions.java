package paimon_sql;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.classic.SparkSession;
import paimon.DefaultSource;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/** Named by `spark.sql.extensions`: hands statements, paths and writes of a program's sessions to Python. */
public class Extensions extends AbstractFunction1 {
  public Object apply(Object given) {
    SparkSessionExtensions extensions = (SparkSessionExtensions) given;
    // DefaultSource does not get the session of a writer by path, and uses the active one, which may be another
    SparkContext.getOrCreate().conf().setIfMissing("spark.sql.catalog.paimon_path", "paimon_sql.SparkCatalog");
    extensions.injectParser(new AbstractFunction2() {
      public Object apply(Object session, Object parser) { return DoorParser.of(session, parser); }
    });
    new FrameRewrites().install(extensions, new AbstractFunction2() {
      public Object apply(Object session, Object plan) {
        return Door.python((SparkSession) session).rewrite().apply(session, plan);
      }
    });
    DefaultSource.locateWith(new AbstractFunction1() {
      public Object apply(Object options) {
        SparkSession session = (SparkSession) org.apache.spark.sql.SparkSession.active();
        return Door.python(session).locate().apply(options);
      }
    });
    return BoxedUnit.UNIT;
  }
}
