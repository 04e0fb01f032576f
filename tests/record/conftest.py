"""After each test with a database: no row without its parents."""

from tests.orphans import no_orphans as no_orphans
