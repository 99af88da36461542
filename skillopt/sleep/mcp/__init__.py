"""The companion as an MCP server on stdio: what may be looked at and started from an agent, and nothing that adopts."""
