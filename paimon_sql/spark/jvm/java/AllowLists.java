import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.*;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.GlobPattern;

/**
 * The names that a read-only server allows, by their kind, such as a plan, a function or a setting.
 *
 * All protocols of the server use the same lists. A setting or an option may also match a pattern, and variables may always
 * be set. A path must be a listed folder, or below one, and symbolic links must not lead to other folders: links in the path,
 * and of a "tree" also links below the path. A path must not lead into a warehouse that has users, unless the operator chose
 * the folder; a "tree" must not contain such a warehouse. The value of a setting must not name the server's environment.
 * Options have no case.
 */
public class AllowLists implements BiPredicate {
  /** Spark replaces these in the value of a setting when it reads it, also where statements do not replace variables. */
  private static final Pattern OF_SERVER = Pattern.compile("\\$\\{\\w+:");
  private static final Pattern UNCLEAR = Pattern.compile("\\.\\.|[\\\\\\x00-\\x1f]|^\\s|^//");
  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
  private static final Pattern OF_FILES = Pattern.compile("[*?\\[{]");
  private static final List KINDS_OF_PLACES = Arrays.asList(new String[] {"place", "warehouse", "chosen place"});
  private static final String LOCAL = "file://";
  private static final String OF_PATTERNS = " pattern";  // the kind of a line with a pattern ends so
  private final Map names = new HashMap();  // from a kind to a set
  private final Map patterns = new HashMap();  // from a kind to a list

  private final Map places = new HashMap();  // from a kind to the folders of its set, see `placed`
  private Predicate hasUsers;  // tests a warehouse; null if no warehouse has users
  private final ThreadLocal answers = new ThreadLocal();  // of `hasUsers`, while this thread checks a plan or a path

  /** Lists of lines: each has a kind and a name, with a tab between them. */
  public BiPredicate of(String lines, Predicate hasUsers) {
    AllowLists made = new AllowLists();
    made.hasUsers = hasUsers;
    String[] all = lines.split("\n");
    for (int i = 0; i < all.length; i++) {
      String[] one = all[i].split("\t");
      boolean isPattern = one[0].endsWith(OF_PATTERNS);
      String kind = isPattern ? one[0].substring(0, one[0].length() - OF_PATTERNS.length()) : one[0];
      Map into = isPattern ? made.patterns : made.names;
      if (!into.containsKey(kind)) into.put(kind, new HashSet());
      ((Set) into.get(kind)).add(isPattern ? (Object) Pattern.compile(one[1]) : one[1]);
    }
    for (Iterator each = made.names.entrySet().iterator(); each.hasNext();) {
      Map.Entry one = (Map.Entry) each.next();
      if (KINDS_OF_PLACES.contains(one.getKey())) made.places.put(one.getKey(), placed((Set) one.getValue()));
    }
    return made;
  }

  /** Pairs: each folder as `place` returns it, and as it is listed. */
  private static List placed(Set folders) {
    List found = new ArrayList();
    for (Iterator each = folders.iterator(); each.hasNext();) {
      String one = (String) each.next(), folder = place(one);
      if (folder != null) found.add(new String[] {folder, one});
    }
    return found;
  }

  /**
   * Whether a name of a kind is allowed. The kind "plan is checked" with true or false begins or ends the check of a plan on this
   * thread: a plan may name 100,000 files, and the question whether a warehouse has users takes a request to its storage.
   */
  public boolean test(Object kind, Object name) {
    if (kind.equals("plan is checked")) {
      if (Boolean.TRUE.equals(name)) answers.set(new HashMap());
      else answers.remove();
      return true;
    }
    if (kind.equals("place") || kind.equals("tree")) return isFoundOnce(String.valueOf(name), kind.equals("tree"));
    if (kind.equals("value")) return !OF_SERVER.matcher(String.valueOf(name)).find();
    String asked = kind.equals("option") ? String.valueOf(name).toLowerCase(Locale.ROOT) : String.valueOf(name);
    Set found = (Set) names.get(kind);
    if (found != null && found.contains(asked)) return true;
    return kind.equals("setting") && VARIABLE.matcher(asked).matches() || matches((Set) patterns.get(kind), asked);
  }

  private boolean isFoundOnce(String path, boolean isTree) {
    if (answers.get() != null) return isFound(path, isTree);
    answers.set(new HashMap());
    try {
      return isFound(path, isTree);
    } finally {
      answers.remove();
    }
  }

  /** Whether a path, and what its symbolic links lead to, is a listed folder or below one. */
  private boolean isFound(String path, boolean isTree) {
    if (!isOpen(path, isTree)) return false;
    String asked = place(path);
    if (!asked.startsWith(LOCAL)) return true;
    try {
      Set seen = new HashSet();
      List found = Collections.singletonList(new File("/", fixed(asked).substring(LOCAL.length())));
      if (!linksStay(found, isTree && fixed(asked) == asked, seen)) return false;
      String[] names = asked.substring(fixed(asked).length()).split("/");
      // each part of a pattern: otherwise an error would show whether there is a file behind a link
      for (int i = 1; i < names.length; i++)
        if (!linksStay(found = inside(found, names[i]), isTree && i == names.length - 1, seen)) return false;
      return true;
    } catch (Exception e) {
      return false;
    }
  }

  private boolean linksStay(List found, boolean isTree, Set seen) throws IOException {
    for (int i = 0; i < found.size(); i++) {
      File one = (File) found.get(i);
      if (!isOpen(real(one), isTree) || isTree && !linksStay(one, seen)) return false;
    }
    return true;
  }

  /** The part of a path before the folder or file that a pattern is for. */
  private static String fixed(String path) {
    Matcher found = OF_FILES.matcher(path);
    return found.find() ? path.substring(0, path.lastIndexOf('/', found.start())) : path;
  }

  /** The files in folders whose names match a pattern as Hadoop matches them. Hadoop leaves links to missing files out. */
  private static List inside(List folders, String pattern) {
    boolean isPattern = OF_FILES.matcher(pattern).find();
    GlobPattern wanted = isPattern ? new GlobPattern(pattern) : null;
    List found = new ArrayList();
    for (int i = 0; i < folders.size(); i++) {
      File folder = (File) folders.get(i);
      String[] names = isPattern ? folder.list() : new String[] {pattern};
      for (int k = 0; names != null && k < names.length; k++)
        if (!isPattern || wanted.matches(names[k])) found.add(new File(folder, names[k]));
    }
    return found;
  }

  /** A path without links; the file may be missing. Throws for a link that leads to a missing file. */
  private static String real(File file) throws IOException {
    if (Files.exists(file.toPath(), new LinkOption[] {LinkOption.NOFOLLOW_LINKS})) return file.toPath().toRealPath(new LinkOption[0]).toString();
    File parent = file.getParentFile();
    return parent == null ? file.getPath() : new File(real(parent), file.getName()).getPath();
  }

  /** Whether all symbolic links below a folder lead to listed folders. */
  private boolean linksStay(File folder, Set seen) throws IOException {
    if (!folder.isDirectory() || !seen.add(real(folder))) return true;
    DirectoryStream inside = Files.newDirectoryStream(folder.toPath());
    try {
      for (Iterator each = inside.iterator(); each.hasNext();) {
        Path one = (Path) each.next();
        BasicFileAttributes found = Files.readAttributes(one, BasicFileAttributes.class,
            new LinkOption[] {LinkOption.NOFOLLOW_LINKS});
        if (found.isSymbolicLink() && !isOpen(real(one.toFile()), true)) return false;
        if (!found.isRegularFile() && !linksStay(one.toFile(), seen)) return false;
      }
    } finally {
      inside.close();
    }
    return true;
  }

  /** Whether a path is a listed folder, or below one, and leads to no warehouse that has users. */
  private boolean isOpen(String path, boolean isTree) {
    String asked = place(path);
    if (asked == null || !isWithin(asked, (List) places.get("place"))) return false;
    List warehouses = (List) places.get("warehouse");
    if (hasUsers == null || warehouses == null) return true;
    String top = fixed(asked);
    for (int i = 0; i < warehouses.size(); i++) {
      String[] one = (String[]) warehouses.get(i);
      String folder = one[0];
      boolean isAbove = (isTree || top != asked) && isBelow(folder, top);
      if ((isBelow(asked, folder) || isAbove) && !isChosen(asked, folder) && hasUsersNow(one[1])) return false;
    }
    return true;
  }

  private boolean hasUsersNow(Object warehouse) {
    Map known = (Map) answers.get();
    if (!known.containsKey(warehouse)) known.put(warehouse, Boolean.valueOf(hasUsers.test(warehouse)));
    return Boolean.TRUE.equals(known.get(warehouse));
  }

  /** Whether the operator chose a folder of a warehouse in which a path is. */
  private boolean isChosen(String asked, String warehouse) {
    List chosen = (List) places.get("chosen place");
    if (chosen == null) return false;
    for (int i = 0; i < chosen.size(); i++) {
      String one = ((String[]) chosen.get(i))[0];
      if (isBelow(one, warehouse) && isBelow(asked, one)) return true;
    }
    return false;
  }

  private static boolean isWithin(String asked, List places) {
    for (int i = 0; places != null && i < places.size(); i++) if (isBelow(asked, ((String[]) places.get(i))[0])) return true;
    return false;
  }

  /** Whether a path is a folder, or below it; both as `place` returns them. */
  private static boolean isBelow(String asked, String folder) {
    return asked.equals(folder) || asked.startsWith(folder.endsWith("/") ? folder : folder + "/");
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
