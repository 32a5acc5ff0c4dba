import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.*;
import java.util.concurrent.Semaphore;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;

/**
 * Passwords of HiveServer2's users, from the file that `paimon_sql/server/passwords.py` describes; read at each login.
 *
 * Computing a password's hash is slow by design, and a client logs in for each session. So a correct password is cached until
 * its entry in the file changes, as a digest with a key that exists only in this process's memory.
 *
 * A client that guesses slows down only itself. After some wrong passwords from one address for one user, none of its
 * passwords is hashed for a while. At most one password of a known user and one of an unknown user are hashed at a time.
 */
public class PasswordFile implements PasswdAuthenticationProvider {
  private static final String NOBODY = "pbkdf2_sha256$600000$AAAAAAAAAAAAAAAAAAAAAA==$AAAA";  // its check takes as long as any other
  private static final byte[] KEY = new byte[32];
  private static final Map RIGHT = Collections.synchronizedMap(new HashMap());  // from a user to a digest of entry and password

  private static final int FREE = 3, MOST_SECONDS = 60, KEPT = 10000;  // wrong passwords without a pause; longest pause; entries kept
  // one text for all: pauses of known and unknown users begin at different times
  private static final String WRONG = "Wrong user or password. After three wrong ones, none is checked for up to a minute.";
  private static final long STEP = 1000;  // milliseconds; every refusal takes a multiple; more than a hash takes
  private static final ThreadLocal ADDRESS = new ThreadLocal();
  private static final Semaphore USERS = new Semaphore(1, true), STRANGERS = new Semaphore(1, true);
  private static final Map GUESSES = new LinkedHashMap() {  // from an address and a user; guarded by itself
    protected boolean removeEldestEntry(Map.Entry eldest) { return size() > KEPT; }
  };

  static { new SecureRandom().nextBytes(KEY); }

  /** The client address of the next passwords that this thread checks. */
  public static void cameFrom(String address) { ADDRESS.set(address); }

  public void Authenticate(String user, String password) throws AuthenticationException {
    long began = System.nanoTime();
    boolean right;
    try {
      String found = entryOf(user), entry = found == null ? NOBODY : found, given = password == null ? "" : password;
      byte[] digest = digest(entry, given), known = (byte[]) RIGHT.get(user);
      boolean again = known != null && MessageDigest.isEqual(digest, known);
      right = again || hashed(found != null, user, entry, given);
      if (right && !again) RIGHT.put(user, digest);
    } catch (Exception e) {
      throw new AuthenticationException("The file of users cannot be read.");
    }
    if (right) return;
    refuse(began);
    throw new AuthenticationException(WRONG);
  }

  /** Wait until a refusal has taken whole steps. Then its time does not show a client whether a password was hashed, paused
   *  or queued, nor whether the user exists. */
  private static void refuse(long began) {
    long taken = (System.nanoTime() - began) / 1000000L;
    try {
      Thread.sleep(STEP - taken % STEP);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static boolean hashed(boolean known, String user, String entry, String given) throws Exception {
    String guesser = ADDRESS.get() + "\0" + (known ? user : "");
    if (pauses(guesser)) return false;
    Semaphore turn = known ? USERS : STRANGERS;
    turn.acquire();
    boolean right;
    try {
      if (pauses(guesser)) return false;  // other threads may have guessed while this one waited
      right = matches(entry, given) && known;
    } finally {
      turn.release();
    }
    synchronized (GUESSES) {
      if (right) GUESSES.remove(guesser);
      else GUESSES.put(guesser, new long[] {GUESSES.containsKey(guesser) ? ((long[]) GUESSES.get(guesser))[0] + 1 : 1, System.nanoTime()});
    }
    return right;
  }

  /** Whether this address and user have had too many wrong passwords recently. */
  private static boolean pauses(String guesser) {
    long[] wrong;
    synchronized (GUESSES) { wrong = (long[]) GUESSES.get(guesser); }
    if (wrong == null || wrong[0] < FREE) return false;
    long seconds = Math.min(MOST_SECONDS, 4L << Math.min(wrong[0] - FREE, 10));
    return System.nanoTime() - wrong[1] <= seconds * 1000000000L;
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
