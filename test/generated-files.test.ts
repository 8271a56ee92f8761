import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { api } from '../src/registry/api.ts'
import { environmentExample } from '../src/config/config.ts'
import { walk } from '../src/core/operation.ts'
import { DOMAINS } from '../src/registry/domains.ts'
import { eventTypes } from '../src/registry/events.ts'
import { openApiText } from '../src/pages/documents.ts'
import { VERSION } from '../src/config/version.ts'

const committed = (name: string) => readFile(new URL(`../${name}`, import.meta.url), 'utf8')

test('openapi.json is up to date (npm run openapi)', async () => {
  expect(await committed('openapi.json')).toBe(
    openApiText(walk(api), { version: VERSION, domains: DOMAINS, events: [...eventTypes.values()] }),
  )
})

test('.env.example is up to date (npm run env:example)', async () => {
  expect(await committed('.env.example')).toBe(environmentExample())
})
