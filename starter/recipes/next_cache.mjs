// Next.js (15.1 and above): a page that has changed is also dropped from the caches in front. Copy
// this file to your application, and call changed() where you would call revalidatePath(), in a
// server action or a route handler:
//
//     await changed("/about")                 this page
//     await changed("/blog/[slug]", "page")   every page of this route, as revalidatePath() has it
//     await changed("/", "layout")            all pages
//
// A program on the machine needs VARNISH_PURGE_URL in its environment: http://127.0.0.1:6081
// (extras/app), or nginx's address and PURGE_TOKEN (starter). A purge that fails is in the log.

import { revalidatePath } from "next/cache";
import { after } from "next/server";

const varnish = process.env.VARNISH_PURGE_URL ?? "http://varnish:6081";
const token = { "X-Purge-Token": process.env.PURGE_TOKEN ?? "" };

export async function changed(path, type) {
  revalidatePath(path, type);
  await purge(path, type);
  // Next.js makes the old page invalid at the end of the request: until then it might be kept again.
  after(() => purge(path, type));
}

async function purge(path, type) {
  // A group has no part in an address: /(shop)/cart is /cart. Behind a segment in brackets, and for
  // a layout, every address that begins so.
  const known = path.replace(/\/\([^/]*\)/g, "").replace(/\/\[.*/, "/") || "/";
  const how = path.includes("/[") || type === "layout" ? { "X-Purge-Method": "regex" } : {};
  try {
    const signal = AbortSignal.timeout(2000);
    const address = new URL(known, varnish);
    const headers = { ...token, ...how };
    const { status } = await fetch(address, { method: "PURGE", headers, signal });
    if (status !== 200) throw new Error(`status ${status}`);
  } catch (error) {
    console.warn(`Not purged: ${path}:`, error);
  }
}
