import java.io.DataOutputStream;
import java.io.File;
import java.nio.file.Files;
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * MiniHdfs FOLDER [KEYTAB PROTECTION]: a name node on the loopback device, with one data node, until standard input ends.
 * With the keytab of hdfs/localhost and HTTP/localhost it requires Kerberos, and protects data as PROTECTION says. Then the
 * user hdfs may act for others, alice has a folder, and tokens of both are beside the keytab, in both formats.
 */
public class MiniHdfs {
  public static void main(String[] args) throws Exception {
    Configuration settings = new Configuration();
    settings.set("hdfs.minidfs.basedir", new File(args[0]).getAbsolutePath());
    settings.set("dfs.datanode.address", "127.0.0.1:0");
    settings.set("dfs.datanode.ipc.address", "127.0.0.1:0");
    settings.set("dfs.datanode.http.address", "127.0.0.1:0");
    settings.set("dfs.datanode.hostname", "127.0.0.1");
    settings.set("dfs.namenode.http-address", "127.0.0.1:0");
    if (args.length > 1) {
      secure(settings, args[1], args[2]);
    }
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(settings).nameNodePort(0).numDataNodes(1).format(true).build();
    cluster.waitActive();
    if (args.length > 1) {
      File folder = new File(args[1]).getParentFile();
      FileSystem own = cluster.getFileSystem();
      Path home = new Path("/user/alice");
      own.mkdirs(home);
      own.setOwner(home, "alice", "alice");
      writeTokens(own, new File(folder, "hdfs.tokens"), Credentials.SerializedFormat.WRITABLE);
      UserGroupInformation alice = UserGroupInformation.createProxyUser("alice", UserGroupInformation.getLoginUser());
      alice.doAs((PrivilegedExceptionAction<Void>) () -> {
        FileSystem hers = FileSystem.newInstance(own.getUri(), settings);
        writeTokens(hers, new File(folder, "alice.tokens"), Credentials.SerializedFormat.PROTOBUF);
        return null;
      });
    }
    System.out.println("ready " + cluster.getNameNodePort());
    System.out.flush();
    while (System.in.read() >= 0) {}
    System.exit(0);
  }

  private static void writeTokens(FileSystem files, File file, Credentials.SerializedFormat format) throws Exception {
    Credentials tokens = new Credentials();
    files.addDelegationTokens("hdfs", tokens);
    try (DataOutputStream out = new DataOutputStream(Files.newOutputStream(file.toPath()))) {
      tokens.writeTokenStorageToStream(out, format);
    }
  }

  private static void secure(Configuration settings, String keytab, String protection) throws Exception {
    settings.set("hadoop.security.authentication", "kerberos");
    settings.set("hadoop.rpc.protection", protection);
    settings.set("dfs.data.transfer.protection", protection);
    settings.setBoolean("dfs.block.access.token.enable", true);
    settings.set("hadoop.proxyuser.hdfs.hosts", "*");
    settings.set("hadoop.proxyuser.hdfs.groups", "*");
    settings.setBoolean("ignore.secure.ports.for.testing", true); // no certificates for HTTPS
    for (String node : new String[] {"dfs.namenode", "dfs.datanode"}) {
      settings.set(node + ".kerberos.principal", "hdfs/localhost@LAKE.TEST");
      settings.set(node + ".keytab.file", keytab);
    }
    settings.set("dfs.web.authentication.kerberos.principal", "HTTP/localhost@LAKE.TEST");
    settings.set("dfs.web.authentication.kerberos.keytab", keytab);
    UserGroupInformation.setConfiguration(settings);
    UserGroupInformation.loginUserFromKeytab("hdfs/localhost@LAKE.TEST", keytab);
  }
}
