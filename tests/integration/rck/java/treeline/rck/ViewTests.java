package treeline.rck;

import org.apache.iceberg.rest.RESTCompatibilityKitViewCatalogTests;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.TestInfo;

/** The kit's tests of views. All of them that are meant for REST run as they are. */
public class ViewTests extends RESTCompatibilityKitViewCatalogTests {
  @AfterEach
  void keepLeftovers(TestInfo test) {
    Leftovers.keep(catalog(), test);
  }
}
