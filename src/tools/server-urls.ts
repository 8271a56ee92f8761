const PARTS = /^([a-z+]+:\/\/)(?:([^/?#]*)@)?([^/?#@]*)(.*)$/

/**
 * Reads a URL that can name several servers, separated by commas: `redis+cluster://user:password@one:7000,two:7001/path`.
 * @returns one URL per server, each with user, path and parameters
 * @throws Error that says what to change, without the user and the password
 */
export function serverUrls(text: string, protocols: readonly string[]): URL[] {
  const [, protocol = '', user, servers = '', rest] = PARTS.exec(text) ?? []
  const schemes = protocols.map((name) => `${name}://`)
  if (!schemes.includes(protocol)) {
    throw new Error(`must begin with ${schemes.join(' or ')}`)
  }
  const login = user === undefined ? '' : `${user}@`
  return servers.split(',').map((server) => {
    const url = URL.parse(`${protocol}${login}${server}${rest}`)
    if (url === null) throw new Error(`must be a URL. "${server}" is not a host with a port`)
    return url
  })
}
