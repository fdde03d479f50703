// What npm packages say of a directory's response: a JSON object on stdin, one on stdout. The
// packages come from the folder that the first argument names, not from beside this file.
import { createPublicKey, webcrypto } from "node:crypto";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { readFileSync } from "node:fs";

globalThis.crypto ??= webcrypto; // before Node 19
const from = createRequire(resolve(process.argv[2], "package.json"));
const httpMessageSig = from("http-message-sig");
const { httpbis, createVerifier } = from("http-message-signatures");

const { url, status, fields, keys, labels } = JSON.parse(readFileSync(0));
const find = (keyid) => keys.find((jwk) => jwk.kid === keyid);

// One label after the other, by the name that we gave it.
async function httpMessageSigSays(label) {
  const message = {
    kind: "response",
    status,
    fields: fields.map(([name, value]) => ({ name, value })),
    request: { kind: "request", method: "GET", targetUri: url, fields: [] },
  };
  await httpMessageSig.verifySignature(message, {
    label,
    policy: {
      algorithms: ["ed25519"],
      requiredComponents: [httpMessageSig.component("@authority", { req: true }), "content-digest"],
      requiredParameters: ["created", "expires", "keyid", "tag"],
      tag: "http-message-signatures-directory",
    },
    async resolveVerifier({ parameters: { keyid } }) {
      const key = await crypto.subtle.importKey("jwk", find(keyid), "Ed25519", true, ["verify"]);
      return httpMessageSig.webcrypto.verifier(key);
    },
  });
  return "verified";
}

// All labels at once.
async function httpMessageSignaturesSays() {
  const config = {
    all: true,
    requiredParams: ["created", "expires", "keyid", "tag"],
    requiredFields: ["@authority", "content-digest"], // it compares names, without ;req
    async keyLookup({ keyid }) {
      const verify = createVerifier(createPublicKey({ key: find(keyid), format: "jwk" }), "ed25519");
      return { id: keyid, algs: ["ed25519"], verify };
    },
  };
  const headers = Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]));
  const request = { method: "GET", url, headers: {} };
  const found = await httpbis.verifyMessage(config, { status, headers }, request);
  return found === true ? "verified" : String(found);
}

async function said(ask) {
  try {
    return await ask();
  } catch (error) {
    return error.message;
  }
}

const found = { "http-message-signatures": await said(httpMessageSignaturesSays) };
for (const label of labels) {
  found[`http-message-sig ${label}`] = await said(() => httpMessageSigSays(label));
}
process.stdout.write(JSON.stringify(found));
