/**
 * A page of this server that has sent a request, as its browser says: `Origin` names this host, and `Sec-Fetch-Site` is
 * `same-origin`. Scripts cannot set either header (Fetch standard, forbidden request headers).
 */
export interface OwnPage {
  /** Whether the browser loaded the page over HTTPS. */
  readonly isSecure: boolean
  /** The Cookie header; empty without one. */
  readonly cookies: string
}

/** The value of a cookie (RFC 6265, 5.4); undefined without one, or with several of this name. */
export function onlyCookie({ cookies }: OwnPage, name: string): string | undefined {
  const found = cookies.split(/; */).filter((pair) => pair.startsWith(`${name}=`))
  // A page of a sub-domain or another port can set a second one, and nothing tells which is which.
  return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined
}
