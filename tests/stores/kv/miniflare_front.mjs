// Cloudflare's REST paths for KV in front of the real workerd KV. Prints its port; takes a folder to keep values in, or none.
import { Miniflare } from "miniflare";

const worker = `
const said = (result, more = {}) => Response.json({ success: true, errors: [], messages: [], result, ...more });
const failed = (status, code, message) =>
  Response.json({ success: false, errors: [{ code, message }], messages: [], result: null }, { status });

async function value(request, kv, key, options) {
  if (request.method === "GET") {
    const found = await kv.get(key, "arrayBuffer");
    return found === null ? failed(404, 10009, "get: 'key not found'") : new Response(found);
  }
  if (request.method === "DELETE") {
    await kv.delete(key);
    return said({});
  }
  const ttl = options.get("expiration_ttl");
  await kv.put(key, await request.arrayBuffer(), ttl ? { expirationTtl: Number(ttl) } : {});
  return said({});
}

async function keys(kv, options) {
  const page = await kv.list({ prefix: options.get("prefix") || undefined, cursor: options.get("cursor") || undefined, limit: 10 });
  return said(page.keys, { result_info: { count: page.keys.length, cursor: page.list_complete ? "" : page.cursor } });
}

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const path = url.pathname.match(/^\\/client\\/v4\\/accounts\\/acct\\/storage\\/kv\\/namespaces\\/([^/]+)\\/(values|keys)(?:\\/(.+))?$/);
    if (request.headers.get("authorization") !== "Bearer " + env.TOKEN) return failed(403, 10000, "Authentication error");
    const kv = path && env[path[1]];
    if (!kv || !kv.getWithMetadata) return failed(404, 10013, "namespace not found");
    try {
      return await (path[2] === "keys" ? keys(kv, url.searchParams) : value(request, kv, decodeURIComponent(path[3]), url.searchParams));
    } catch (error) {
      return failed(400, 10033, String(error.message || error));
    }
  },
};`;

const server = new Miniflare({
  modules: true,
  script: worker,
  host: "127.0.0.1",
  port: 0,
  kvNamespaces: ["ns1", "ns2"],
  kvPersist: process.argv[2] || false,
  bindings: { TOKEN: process.env.FRONT_TOKEN },
  compatibilityDate: "2025-01-01",
  cf: false,
});
console.log((await server.ready).port);
process.stdin.on("end", async () => { await server.dispose(); process.exit(0); }).resume();
