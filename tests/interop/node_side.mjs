// The npm packages behind one door: a JSON request a line on stdin, its JSON answer on stdout.
// The packages come from the folder that the first argument names, not from beside this file.
import { createPublicKey, createPrivateKey, webcrypto } from "node:crypto";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

globalThis.crypto ??= webcrypto; // before Node 19
const from = createRequire(resolve(process.argv[2], "package.json"));
const webBotAuth = from("web-bot-auth");
const webBotAuthCrypto = from("web-bot-auth/crypto");
const httpMessageSig = from("http-message-sig");
const { httpbis, createSigner, createVerifier } = from("http-message-signatures");

// A set may have keys of other types beside the Ed25519 key; these packages know none of ML-DSA.
const find = (keys, keyid) => keys.find((jwk) => jwk.kty === "OKP" && jwk.kid === keyid);

function unknown(keyid) {
  throw new Error(`no key ${keyid}`);
}

async function key(jwk, usage) {
  return crypto.subtle.importKey("jwk", jwk, "Ed25519", true, [usage]);
}

// What a server has of a request: field lines in a list, or one array of values a name.
function arrays(fields) {
  const headers = {};
  for (const [name, value] of fields) (headers[name.toLowerCase()] ??= []).push(value);
  return headers;
}

function descriptor({ method, url, fields }) {
  return {
    kind: "request",
    method,
    targetUri: url,
    fields: fields.map(([name, value]) => ({ name, value })),
  };
}

// Each takes a request and key set, gives true or "not verified", or throws what its package says.
const verifiers = {
  async "web-bot-auth"({ method, url, fields, keys }) {
    await webBotAuth.verify(new Request(url, { method, headers: fields }), async (...asked) => {
      const jwk = find(keys, asked[2].keyid) ?? unknown(asked[2].keyid);
      await (await webBotAuthCrypto.verifierFromJWK(jwk))(...asked);
    });
    return true;
  },

  async "http-message-sig"({ keys, label, ...request }) {
    const { label: verified } = await httpMessageSig.verifySignature(descriptor(request), {
      label,
      policy: {
        algorithms: ["ed25519"],
        requiredComponents: ["@authority"],
        requiredParameters: ["created", "expires", "keyid", "tag"],
        maxAge: 300,
        clockSkew: 5,
      },
      async resolveVerifier({ parameters: { keyid } }) {
        const jwk = find(keys, keyid) ?? unknown(keyid);
        return httpMessageSig.webcrypto.verifier(await key(jwk, "verify"));
      },
    });
    return verified === "sig1" || `verified ${verified}`;
  },

  async "http-message-signatures"({ method, url, fields, keys, all }) {
    const config = {
      all,
      requiredParams: ["created", "expires", "keyid", "tag"],
      requiredFields: ["@authority"],
      async keyLookup({ keyid }) {
        const jwk = find(keys, keyid);
        if (!jwk) return null;
        const verify = createVerifier(createPublicKey({ key: jwk, format: "jwk" }), "ed25519");
        return { id: keyid, algs: ["ed25519"], verify };
      },
    };
    const verified = await httpbis.verifyMessage(config, { method, url, headers: arrays(fields) });
    return verified === true || `gives ${verified}`;
  },
};

// Each takes a request, a private key and what to cover, as a list of names with a member's key or
// null, and gives the fields of the signed request.
const signers = {
  async "web-bot-auth"({ method, url, fields, jwk, covered, created, expires }) {
    const signer = await webBotAuthCrypto.signerFromJWK(jwk);
    const message = new Request(url, { method, headers: fields });
    const added = await webBotAuth.signatureHeaders(message, signer, {
      created: new Date(created * 1000),
      expires: new Date(expires * 1000),
      components: covered.map(([name, member]) =>
        member === null ? name : { name, parameters: new Map([["key", member]]) },
      ),
    });
    return [...fields, ...Object.entries(added)];
  },

  async "http-message-sig"({ jwk, covered, created, expires, ...request }) {
    const added = await httpMessageSig.createSignature(descriptor(request), {
      components: covered.map(([name, member]) =>
        httpMessageSig.component(name, member === null ? {} : { key: member }),
      ),
      parameters: { created, expires, keyid: jwk.kid, alg: "ed25519", tag: "web-bot-auth" },
      signer: httpMessageSig.webcrypto.signer(await key(jwk, "sign")),
    });
    return [
      ...request.fields,
      ["Signature-Input", added.signatureInput],
      ["Signature", added.signature],
    ];
  },

  async "http-message-signatures"({ method, url, fields, jwk, covered, created, expires }) {
    const config = {
      key: createSigner(createPrivateKey({ key: jwk, format: "jwk" }), "ed25519", jwk.kid),
      name: "sig1",
      fields: covered.map(([name, member]) =>
        member === null ? name : `"${name}";key="${member}"`,
      ),
      params: ["created", "expires", "keyid", "alg", "tag"],
      paramValues: {
        created: new Date(created * 1000),
        expires: new Date(expires * 1000),
        tag: "web-bot-auth",
      },
    };
    const { headers } = await httpbis.signMessage(config, { method, url, headers: arrays(fields) });
    return Object.entries(headers).map(([name, value]) => [name, [value].flat().join(", ")]);
  },
};

async function answer({ verify, sign, ...rest }) {
  try {
    if (sign) return { fields: await signers[sign](rest) };
    const verified = await verifiers[verify](rest);
    return verified === true ? { accepted: true } : { why: verified };
  } catch (error) {
    return { why: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
