"""One certificate authority for a run: what servers show, and who each client is."""

from __future__ import annotations

from pathlib import Path

import trustme


class Credentials:
    """Files of certificates and kubeconfigs below one folder."""

    def __init__(self, folder: Path, server: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.server = server
        self._authority = trustme.CA(organization_name="binpackgen e2e")
        self.ca = folder / "ca.crt"
        self._authority.cert_pem.write_to_path(self.ca)

    @property
    def ca_pem(self) -> bytes:
        """The authority's certificate."""
        return self._authority.cert_pem.bytes()

    def serving(self, name: str) -> tuple[Path, Path]:
        """Certificate and key of a server on loopback, as tls.crt and tls.key in a folder of that name."""
        folder = self.folder / name
        folder.mkdir()
        issued = self._authority.issue_cert("127.0.0.1", "localhost")
        certificate, key = folder / "tls.crt", folder / "tls.key"
        issued.cert_chain_pems[0].write_to_path(certificate)
        issued.private_key_pem.write_to_path(key)
        return certificate, key

    def client(self, user: str, group: str = "") -> tuple[Path, Path]:
        """Certificate and key of a user, in the form that the API server reads names from."""
        stem = user.replace(":", "-")
        certificate, key = self.folder / f"{stem}.crt", self.folder / f"{stem}.key"
        issued = self._authority.issue_cert(
            "127.0.0.1", common_name=user, organization_name=group or "binpackgen e2e"
        )
        issued.cert_chain_pems[0].write_to_path(certificate)
        issued.private_key_pem.write_to_path(key)
        return certificate, key

    def kubeconfig(self, user: str, group: str = "") -> Path:
        """A kubeconfig of a user."""
        certificate, key = self.client(user, group)
        return write_kubeconfig(
            self.folder / f"{certificate.stem}.kubeconfig", self.server, self.ca, certificate, key
        )


def write_kubeconfig(path: Path, server: str, ca: Path, certificate: Path, key: Path) -> Path:
    """A kubeconfig of one cluster and one user."""
    import json

    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": {"server": server, "certificate-authority": str(ca)}}],
        "users": [{"name": "e2e", "user": {"client-certificate": str(certificate), "client-key": str(key)}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "current-context": "e2e",
    }
    path.write_text(json.dumps(body))
    path.chmod(0o600)
    return path
