"""RFC 9421 HTTP Message Signatures for Web Bot Auth, Ed25519 and ML-DSA: values in, values out."""
