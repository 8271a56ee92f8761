import { readFileSync, writeFileSync } from 'node:fs'
import { api } from './api.ts'
import { environmentExample } from '../config/config.ts'
import { walk } from '../core/operation.ts'
import { DOMAINS } from './domains.ts'
import { eventTypes } from './events.ts'
import { openApiText } from '../pages/documents.ts'
import { VERSION } from '../config/version.ts'

/**
 * Writes the files of the repository that come from the sources, or with --check says which are out of date:
 *
 *     node src/registry/generate.ts [openapi] [env] [--check]
 */
const FILES = {
  openapi: [
    'openapi.json',
    () => openApiText(walk(api), { version: VERSION, domains: DOMAINS, events: [...eventTypes.values()] }),
  ],
  env: ['.env.example', environmentExample],
} as const

const words = process.argv.slice(2)
const check = words.includes('--check')
const wanted = words.filter((word) => word !== '--check')

for (const [key, [name, make]] of Object.entries(FILES)) {
  if (wanted.length > 0 && !wanted.includes(key)) continue
  const file = new URL(`../../${name}`, import.meta.url)
  const text = make()
  if (!check) writeFileSync(file, text)
  else if (read(file) !== text) {
    process.stderr.write(`${name} is out of date: run node src/registry/generate.ts ${key}\n`)
    process.exitCode = 1
  }
}

function read(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
