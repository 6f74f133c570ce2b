"""Real storage servers, which tests start: found in a cache folder, or built there once from a package registry."""
