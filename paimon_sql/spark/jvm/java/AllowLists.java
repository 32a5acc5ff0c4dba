import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.*;
import java.util.function.BiPredicate;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The names that a read-only server allows, by their kind, such as a plan, a function or a setting.
 *
 * All protocols of the server use the same lists. A setting or an option may also match a pattern, and variables may always
 * be set. A path must be a listed folder, or below one, and symbolic links must not lead to other folders: links in the path,
 * and of a "tree" also links below the path. The value of a setting must not name the server's environment. Options have no
 * case.
 */
public class AllowLists implements BiPredicate {
  /** Spark replaces these in the value of a setting when it reads it, also where statements do not replace variables. */
  private static final Pattern OF_SERVER = Pattern.compile("\\$\\{\\w+:");
  private static final Pattern UNCLEAR = Pattern.compile("\\.\\.|[\\\\\\x00-\\x1f]|^\\s|^//");
  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
  private static final Pattern OF_FILES = Pattern.compile("[*?\\[{]");
  private static final String LOCAL = "file://";
  private static final String OF_PATTERNS = " pattern";  // the kind of a line with a pattern ends so
  private final Map names = new HashMap();  // from a kind to a set
  private final Map patterns = new HashMap();  // from a kind to a list

  /** Lists of lines: each has a kind and a name, with a tab between them. */
  public BiPredicate of(String lines) {
    AllowLists made = new AllowLists();
    String[] all = lines.split("\n");
    for (int i = 0; i < all.length; i++) {
      String[] one = all[i].split("\t");
      boolean isPattern = one[0].endsWith(OF_PATTERNS);
      String kind = isPattern ? one[0].substring(0, one[0].length() - OF_PATTERNS.length()) : one[0];
      Map into = isPattern ? made.patterns : made.names;
      if (!into.containsKey(kind)) into.put(kind, new HashSet());
      ((Set) into.get(kind)).add(isPattern ? (Object) Pattern.compile(one[1]) : one[1]);
    }
    return made;
  }

  public boolean test(Object kind, Object name) {
    if (kind.equals("place") || kind.equals("tree")) return isFound(String.valueOf(name), kind.equals("tree"));
    if (kind.equals("value")) return !OF_SERVER.matcher(String.valueOf(name)).find();
    String asked = kind.equals("option") ? String.valueOf(name).toLowerCase(Locale.ROOT) : String.valueOf(name);
    Set found = (Set) names.get(kind);
    if (found != null && found.contains(asked)) return true;
    return kind.equals("setting") && VARIABLE.matcher(asked).matches() || matches((Set) patterns.get(kind), asked);
  }

  /** Whether a path, and what its symbolic links lead to, is a listed folder or below one. */
  private boolean isFound(String path, boolean isTree) {
    Set places = (Set) names.get("place");
    if (!isWithin(path, places)) return false;
    String asked = place(path);
    if (!asked.startsWith(LOCAL)) return true;
    try {
      File[] found = files(asked.substring(LOCAL.length()));
      Set seen = new HashSet();
      for (int i = 0; i < found.length; i++)
        if (!isWithin(found[i].getCanonicalPath(), places) || isTree && !linksStay(found[i], places, seen)) return false;
      return true;
    } catch (Exception e) {
      return false;
    }
  }

  /** The files that Hadoop opens for a local path; the path may be a pattern. */
  private static File[] files(String path) throws IOException {
    if (!OF_FILES.matcher(path).find()) return new File[] {new File(path)};
    FileStatus[] found = FileSystem.getLocal(new Configuration(false)).globStatus(new Path(path));
    File[] files = new File[found == null ? 0 : found.length];
    for (int i = 0; i < files.length; i++) files[i] = new File(found[i].getPath().toUri().getPath());
    return files;
  }

  /** Whether all symbolic links below a folder lead to listed folders. */
  private static boolean linksStay(File folder, Set places, Set seen) throws IOException {
    File[] inside = seen.add(folder.getCanonicalPath()) ? folder.listFiles() : null;
    if (inside == null) return true;
    for (int i = 0; i < inside.length; i++) {
      boolean isLink = Files.isSymbolicLink(inside[i].toPath());
      if (isLink && !isWithin(inside[i].getCanonicalPath(), places)) return false;
      if (inside[i].isDirectory() && !linksStay(inside[i], places, seen)) return false;
    }
    return true;
  }

  /** Whether a path is a listed folder, or below one. */
  private static boolean isWithin(String path, Set places) {
    String asked = place(path);
    if (asked == null || places == null) return false;
    for (Iterator each = places.iterator(); each.hasNext();) {
      String one = place((String) each.next());
      if (one != null && (asked.equals(one) || asked.startsWith(one.endsWith("/") ? one : one + "/"))) return true;
    }
    return false;
  }

  /**
   * Return a path with its scheme, without repeated separators; null for a path that Hadoop may read as one outside
   * of the folder that it begins with: by `..`, by an escaped character, or by alternatives, which are several paths.
   */
  private static String place(String path) {
    if (path.length() == 0 || UNCLEAR.matcher(path).find()) return null;
    int opened = path.indexOf('{'), separator = opened < 0 ? -1 : path.indexOf('/', opened);
    if (separator >= 0 && separator < path.lastIndexOf('}')) return null;  // no pattern for this: it would backtrack
    int colon = path.indexOf(':'), slash = path.indexOf('/');
    boolean hasScheme = colon >= 0 && (slash < 0 || colon < slash);
    String scheme = hasScheme ? path.substring(0, colon).toLowerCase(Locale.ROOT) : "file";
    if (scheme.equals("s3a") || scheme.equals("s3n")) scheme = "s3";
    String rest = hasScheme ? path.substring(colon + 1) : path;
    String host = "";
    if (rest.startsWith("//")) {
      int end = rest.indexOf('/', 2);
      host = rest.substring(2, end < 0 ? rest.length() : end);
      rest = end < 0 ? "/" : rest.substring(end);
    }
    if (scheme.equals("file") && host.length() > 0) return null;
    if (!rest.startsWith("/")) {
      if (hasScheme) return null;
      rest = System.getProperty("user.dir") + "/" + rest;
    }
    StringBuilder found = new StringBuilder(scheme).append("://").append(host);
    int length = found.length();
    for (StringTokenizer names = new StringTokenizer(rest, "/"); names.hasMoreTokens();) {
      String name = names.nextToken();
      if (!name.equals(".")) found.append('/').append(name);
    }
    return found.length() == length ? found.append('/').toString() : found.toString();
  }

  private static boolean matches(Set patterns, String name) {
    if (patterns == null) return false;
    for (Iterator each = patterns.iterator(); each.hasNext();)
      if (((Pattern) each.next()).matcher(name).matches()) return true;
    return false;
  }
}
