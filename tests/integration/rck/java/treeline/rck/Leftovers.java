package treeline.rck;

import java.util.Arrays;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.RESTCatalog;
import org.junit.jupiter.api.TestInfo;

/**
 * Moves what a test left in the catalog to a namespace of its own, {@code kept.<class>.<test>}.
 *
 * <p>Several tests of the kit expect namespaces not to be there that others leave. Moved instead of dropped, everything can still
 * be looked at when all have run.
 */
final class Leftovers {
  private static final Namespace KEPT = Namespace.of("kept");

  private Leftovers() {}

  static void keep(RESTCatalog catalog, TestInfo test) {
    Namespace target = Namespace.of("kept", test.getTestClass().orElseThrow().getSimpleName(), nameOf(test));
    for (Namespace left : catalog.listNamespaces()) {
      if (!left.equals(KEPT)) {
        create(catalog, target);
        move(catalog, left, target);
      }
    }
  }

  private static String nameOf(TestInfo test) {
    String method = test.getTestMethod().orElseThrow().getName();
    String shown = test.getDisplayName();
    return shown.startsWith(method) ? method : method + " " + shown;
  }

  private static void create(RESTCatalog catalog, Namespace namespace) {
    for (int levels = 1; levels <= namespace.length(); levels++) {
      Namespace level = Namespace.of(Arrays.copyOf(namespace.levels(), levels));
      if (!catalog.namespaceExists(level)) {
        catalog.createNamespace(level);
      }
    }
  }

  private static void move(RESTCatalog catalog, Namespace source, Namespace parent) {
    Namespace target = below(parent, source.level(source.length() - 1));
    catalog.createNamespace(target, catalog.loadNamespaceMetadata(source));
    for (TableIdentifier table : catalog.listTables(source)) {
      catalog.renameTable(table, TableIdentifier.of(target, table.name()));
    }
    for (TableIdentifier view : catalog.listViews(source)) {
      catalog.renameView(view, TableIdentifier.of(target, view.name()));
    }
    for (Namespace child : catalog.listNamespaces(source)) {
      move(catalog, child, target);
    }
    catalog.dropNamespace(source);
  }

  private static Namespace below(Namespace parent, String name) {
    String[] levels = Arrays.copyOf(parent.levels(), parent.length() + 1);
    levels[parent.length()] = name;
    return Namespace.of(levels);
  }
}
