import { execFileSync } from 'node:child_process'

/** A network connection of a node that can be cut and restored. */
export interface NetworkConnection {
  cut(): void
  restore(): void
  close(): void
}

/** The first host number of nodes; Redis and PostgreSQL have lower ones. */
const FIRST_NODE = 17

/**
 * A bridge with a network namespace for each node. The kernel drops the packets of a cut connection, of open and of new
 * ones. Needs root and iproute2.
 */
export class Namespaces {
  readonly #id = process.pid % 10_000
  readonly #net = `10.213.${process.pid % 250}`
  readonly #names: string[] = []
  readonly redisHost = `${this.#net}.1`
  readonly databaseHost = `${this.#net}.2`

  constructor() {
    ip('link', 'add', this.#bridge, 'type', 'bridge')
    for (const host of [this.redisHost, this.databaseHost]) ip('addr', 'add', `${host}/24`, 'dev', this.#bridge)
    ip('link', 'set', this.#bridge, 'up')
  }

  get #bridge(): string {
    return `crb${this.#id}`
  }

  /** Adds a namespace for a node. @returns its address, the options of `fork` that start a process there, and its connections */
  add() {
    const index = this.#names.length
    const name = `cr${this.#id}n${index}`
    const [near, far] = [`cra${this.#id}n${index}`, `crz${this.#id}n${index}`]
    const host = `${this.#net}.${FIRST_NODE + index}`
    ip('netns', 'add', name)
    this.#names.push(name)
    ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', name)
    ip('link', 'set', near, 'master', this.#bridge, 'up')
    ip('-n', name, 'addr', 'add', `${host}/24`, 'dev', far)
    for (const device of ['lo', far]) ip('-n', name, 'link', 'set', device, 'up')
    const connection = (to: string): NetworkConnection => {
      const route = (what: string) => ip('-n', name, 'route', what, 'blackhole', to)
      let isCut = false
      return {
        cut: () => {
          route('add')
          isCut = true
        },
        restore: () => {
          if (isCut) route('del')
          isCut = false
        },
        close: () => undefined,
      }
    }
    return {
      host,
      execPath: 'ip',
      execArgv: ['netns', 'exec', name, process.execPath],
      connections: {
        redis: connection(`${this.redisHost}/32`),
        database: connection(`${this.databaseHost}/32`),
        links: connection(`${this.#net}.16/28`),
      },
    }
  }

  close(): void {
    // Deleting a namespace deletes its devices.
    for (const name of this.#names) ip('netns', 'del', name)
    ip('link', 'del', this.#bridge)
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
