package treeline.rck;

import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.RESTCompatibilityKitCatalogTests;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** The kit's tests of namespaces and tables, with those switched on for which the kit has no flag. */
public class TableTests extends RESTCompatibilityKitCatalogTests {
  @Override
  protected boolean supportsNestedNamespaces() {
    return true;
  }

  @Override
  protected boolean supportsNamesWithSlashes() {
    return true;
  }

  @Override
  protected String baseTableLocation(TableIdentifier identifier) {
    return System.getProperty("treeline.tables") + "/" + identifier.namespace() + "/" + identifier.name();
  }

  /** Disabled in the kit, because its own server cannot be configured for one test. */
  @Override
  @Test
  public void createTableInUniqueLocation() {
    super.createTableInUniqueLocation();
  }

  @AfterEach
  void keepLeftovers(TestInfo test) {
    Leftovers.keep(catalog(), test);
  }
}
