import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** MiniHdfs FOLDER: a name node on the loopback device, with one data node, until standard input ends. */
public class MiniHdfs {
  public static void main(String[] args) throws Exception {
    Configuration settings = new Configuration();
    settings.set("hdfs.minidfs.basedir", new File(args[0]).getAbsolutePath());
    settings.set("dfs.datanode.address", "127.0.0.1:0");
    settings.set("dfs.datanode.ipc.address", "127.0.0.1:0");
    settings.set("dfs.datanode.http.address", "127.0.0.1:0");
    settings.set("dfs.datanode.hostname", "127.0.0.1");
    settings.set("dfs.namenode.http-address", "127.0.0.1:0");
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(settings).nameNodePort(0).numDataNodes(1).format(true).build();
    cluster.waitActive();
    System.out.println("ready " + cluster.getNameNodePort());
    System.out.flush();
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
