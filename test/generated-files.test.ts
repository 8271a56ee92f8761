import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { environmentExample } from '../src/config/config.ts'

const committed = (name: string) => readFile(new URL(`../${name}`, import.meta.url), 'utf8')

test('.env.example is up to date (npm run env:example)', async () => {
  expect(await committed('.env.example')).toBe(environmentExample())
})
