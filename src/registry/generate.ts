import { readFileSync, writeFileSync } from 'node:fs'
import { api } from './api.ts'
import { environmentExample } from '../config/config.ts'
import { walk } from '../core/operation.ts'
import { DOMAINS } from './domains.ts'
import { eventTypes } from './events.ts'
import { openApiText } from '../pages/documents.ts'
import { VERSION } from '../config/version.ts'

interface GeneratedFile {
  readonly name: string
  readonly make: () => string
  /** Whether it is in git. The description of the API is not: it has megabytes, and would conflict with each merge. */
  readonly isCommitted: boolean
}

/**
 * Writes the files that come from the sources, or with --check says which of those in git are out of date:
 *
 *     node src/registry/generate.ts [openapi] [env] [--check] [--print]
 */
const FILES: Readonly<Record<string, GeneratedFile>> = {
  openapi: {
    name: 'openapi.json',
    make: () => openApiText(walk(api), { version: VERSION, domains: DOMAINS, events: [...eventTypes.values()] }),
    isCommitted: false,
  },
  env: { name: '.env.example', make: environmentExample, isCommitted: true },
}

const words = process.argv.slice(2)
const check = words.includes('--check')
const isPrinted = words.includes('--print')
const wanted = words.filter((word) => !word.startsWith('--'))

for (const [key, { isCommitted, make, name }] of Object.entries(FILES)) {
  if (wanted.length > 0 && !wanted.includes(key)) continue
  if (check && !isCommitted) continue
  const file = new URL(`../../${name}`, import.meta.url)
  const text = make()
  if (isPrinted) process.stdout.write(text)
  else if (!check) writeFileSync(file, text)
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
