import { readFileSync } from 'node:fs'

const SCRIPT = readFileSync(new URL('../../../src/start.sh', import.meta.url), 'utf8')

/** The flags of Node with which `npm start` starts the server. */
export const START_FLAGS: readonly string[] = /^exec node (--.*?) "/m.exec(SCRIPT)?.[1]?.split(' ') ?? []

/** The environment variables that `npm start` sets for the server. */
export const START_ENV: Readonly<Record<string, string>> = Object.fromEntries(
  SCRIPT.matchAll(/^export (\w+)="\$\{\w+:-(\w+)\}"/gm).map(([, name = '', value = '']) => [name, value]),
)

// A benchmark without them would measure another server.
if (START_FLAGS.length === 0 || Object.keys(START_ENV).length === 0) throw new Error('src/start.sh has no settings')
