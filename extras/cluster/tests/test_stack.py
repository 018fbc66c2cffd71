"""The translation of Compose's words into Swarm's."""

CLUSTER = {
    **dict.fromkeys(("CLUSTER_FILES", "CLUSTER_RUN", "CLUSTER_DISTRIBUTE", "CLUSTER_CERTIFICATE"), "1a2b"),
    **dict.fromkeys(("CLUSTER_FOLDER", "CLUSTER_CERTIFICATE_FILE", "CLUSTER_KEY_FILE"), "/tmp/cluster"),
}
