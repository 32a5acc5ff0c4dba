import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.*;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;

/**
 * Passwords of HiveServer2's users, from the file that `paimon_sql/server/passwords.py` describes; read at each login.
 *
 * A password's hash is made to cost much, and a client logs in for each session. So a password that was right is
 * remembered until its entry changes: by a digest under a key that nobody has who does not have this memory.
 */
public class PasswordFile implements PasswdAuthenticationProvider {
  private static final String NOBODY = "pbkdf2_sha256$600000$AAAAAAAAAAAAAAAAAAAAAA==$AAAA";  // costs as much as another
  private static final byte[] KEY = new byte[32];
  private static final Map RIGHT = Collections.synchronizedMap(new HashMap());  // digests of entry and password, by user

  static { new SecureRandom().nextBytes(KEY); }

  public void Authenticate(String user, String password) throws AuthenticationException {
    boolean right;
    try {
      String found = entryOf(user), entry = found == null ? NOBODY : found, given = password == null ? "" : password;
      byte[] digest = digest(entry, given), known = (byte[]) RIGHT.get(user);
      boolean again = known != null && MessageDigest.isEqual(digest, known);
      right = (again || matches(entry, given)) && found != null;
      if (right && !again) RIGHT.put(user, digest);
    } catch (Exception e) {
      throw new AuthenticationException("The file of users cannot be read.");
    }
    if (!right) throw new AuthenticationException("Wrong user or password.");
  }

  private static String entryOf(String user) throws Exception {
    List lines = Files.readAllLines(Paths.get(System.getProperty("paimon_sql.users"), new String[0]), StandardCharsets.UTF_8);
    for (int i = 0; i < lines.size(); i++) {
      String line = (String) lines.get(i);
      int colon = line.indexOf(':');
      if (colon > 0 && line.substring(0, colon).equals(user)) return line.substring(colon + 1).trim();
    }
    return null;
  }

  private static byte[] digest(String entry, String password) throws Exception {
    MessageDigest made = MessageDigest.getInstance("SHA-256");
    made.update(KEY);
    made.update((entry + "\0" + password).getBytes(StandardCharsets.UTF_8));
    return made.digest();
  }

  private static boolean matches(String entry, String password) throws Exception {
    String[] parts = entry.split("\\$");
    if (parts.length != 4 || !parts[0].equals("pbkdf2_sha256")) throw new IllegalArgumentException(parts[0]);
    Base64.Decoder decoder = Base64.getDecoder();
    PBEKeySpec key = new PBEKeySpec(password.toCharArray(), decoder.decode(parts[2]), Integer.parseInt(parts[1]), 256);
    byte[] made = SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256").generateSecret(key).getEncoded();
    return MessageDigest.isEqual(made, decoder.decode(parts[3]));
  }
}
