import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Outgoing } from '../../../../fetch/outgoing.ts'
import { OPEN_RULES } from '../../../../fetch/target.ts'
import { openAiProvider } from './openai.ts'
import { openAiSpeech } from './speech.ts'

const mock = new LLMock({ host: '127.0.0.1', port: 0 })
const outgoing = Outgoing.of(false)
const signal = new AbortController().signal

beforeAll(async () => {
  mock.on({}, { content: JSON.stringify({ sentences: [{ text: 'Yes.', factNumbers: [1] }] }) })
  await mock.start()
})
afterAll(async () => {
  await mock.stop()
  outgoing.close()
})

const settings = { tone: 'dry', language: 'en', hashtagCount: 0, bannedWords: [], emoji: 'none', model: null } as const
const task = {
  facts: [],
  question: null,
  settings: { ...settings, bannedWords: [], creditLimitPerMonth: null, autoPublishModelText: false },
  model: 'own',
}

test('the provider of a workspace is not reached at an address that is not public, and that of the server is', async () => {
  const endpoint = { baseUrl: `${mock.url}/v1`, key: 'secret', outgoing }
  const own = { ...endpoint, rules: undefined, owner: 'workspace' } as const
  const refused = { name: 'ProviderError', retryable: false, message: expect.stringContaining('is not public') }
  await expect(openAiProvider(own).analysis(task, signal)).rejects.toMatchObject(refused)
  const piece = { path: import.meta.filename, start: 0, seconds: 1, bytes: 1 }
  await expect(openAiSpeech(own).recognize(piece, { model: 'ear', language: null }, signal)).rejects.toMatchObject(
    refused,
  )
  expect(mock.getRequests()).toEqual([])
  const server = openAiProvider({ ...endpoint, rules: OPEN_RULES, owner: 'server' })
  expect((await server.analysis(task, signal)).sentences).toHaveLength(1)
})
