"""TLS and Kerberos of a stack: its certificates, and its KDC with the principals of servers and users."""
