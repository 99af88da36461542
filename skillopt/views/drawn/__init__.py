"""View models as pages: HTML files without a server, drawings, and what templates may call."""
