"""The properties by which Accumulo, its clients and Kafka are secured at each level of ``SECURITY_LEVELS``."""

from __future__ import annotations

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.flavour import Flavour

from .certificates import key_store, read_store_password, trust_store
from .kerberos import SERVICE, server_keytab, server_principal

_STORE_TYPE = "PKCS12"
_TLS_VERSION = "TLSv1.3"
_HANDLERS = "org.apache.accumulo.server.security.handler"


def accumulo_security(settings: Settings, flavour: Flavour) -> dict[str, object]:
    """Returns the properties of Accumulo's servers."""
    if flavour.has_tls:
        password = read_store_password(settings)
        return {
            "instance.rpc.ssl.enabled": "true",
            "instance.rpc.ssl.clientAuth": "true",
            "rpc.ssl.server.enabled.protocols": _TLS_VERSION,
            "rpc.ssl.client.protocol": _TLS_VERSION,
            "rpc.javax.net.ssl.keyStore": key_store(settings, "servers"),
            "rpc.javax.net.ssl.keyStorePassword": password,
            "rpc.javax.net.ssl.keyStoreType": _STORE_TYPE,
            "rpc.javax.net.ssl.trustStore": trust_store(settings),
            "rpc.javax.net.ssl.trustStorePassword": password,
            "rpc.javax.net.ssl.trustStoreType": _STORE_TYPE,
        }
    if flavour.has_sasl:
        return {
            "instance.rpc.sasl.enabled": "true",
            "rpc.sasl.qop": flavour.security,
            "instance.security.authenticator": f"{_HANDLERS}.KerberosAuthenticator",
            "instance.security.authorizor": f"{_HANDLERS}.KerberosAuthorizor",
            "instance.security.permissionHandler": f"{_HANDLERS}.KerberosPermissionHandler",
        }
    return {}


def login_properties(settings: Settings, flavour: Flavour) -> dict[str, object]:
    """Returns the properties by which Accumulo's servers log in at the KDC: for their users, for HDFS, or for both."""
    if not flavour.has_kdc:
        return {}
    return {"general.kerberos.principal": server_principal(), "general.kerberos.keytab": server_keytab(settings)}


def client_security(settings: Settings, flavour: Flavour) -> dict[str, object]:
    """Returns the properties of Accumulo's clients. The file that holds them can be read by its owner alone."""
    if flavour.has_tls:
        password = read_store_password(settings)
        return {
            "ssl.enabled": "true",
            "rpc.ssl.client.protocol": _TLS_VERSION,
            "ssl.keystore.path": key_store(settings, "clients"),
            "ssl.keystore.password": password,
            "ssl.keystore.type": _STORE_TYPE,
            "ssl.truststore.path": trust_store(settings),
            "ssl.truststore.password": password,
            "ssl.truststore.type": _STORE_TYPE,
        }
    if flavour.has_sasl:
        return {"sasl.enabled": "true", "sasl.qop": flavour.security, "sasl.kerberos.server.primary": SERVICE}
    return {}


def kafka_security(settings: Settings, flavour: Flavour) -> dict[str, object]:
    """Returns the properties by which Kafka speaks TLS on its ports; clients prove themselves by SCRAM within it."""
    if not flavour.is_secured:
        return {}
    password = read_store_password(settings)
    return {
        "listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:SASL_SSL",
        "ssl.keystore.location": key_store(settings, "servers"),
        "ssl.keystore.password": password,
        "ssl.key.password": password,
        "ssl.keystore.type": _STORE_TYPE,
        "ssl.truststore.location": trust_store(settings),
        "ssl.truststore.password": password,
        "ssl.truststore.type": _STORE_TYPE,
        "ssl.enabled.protocols": _TLS_VERSION,
    }
