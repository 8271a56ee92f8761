import { describe, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { createLog } from '../core/log.ts'
import { MailRefusedError, type Mail, type Mailer } from './mailer.ts'
import { Postman } from './postman.ts'

const mail = (subject: string): Mail => ({ to: 'ada@example.com', subject, text: subject, html: subject })

/** A mailer whose every mail meets what the test says. */
function setUp(
  meet: (mail: Mail, tries: number) => Promise<void>,
  options: ConstructorParameters<typeof Postman>[2] = {},
) {
  const logs: string[] = []
  const sent: string[] = []
  const tries = new Map<string, number>()
  const mailer: Mailer = {
    destination: 'nowhere',
    send: async (one) => {
      tries.set(one.subject, (tries.get(one.subject) ?? 0) + 1)
      await meet(one, tries.get(one.subject) ?? 0)
      sent.push(one.subject)
    },
    close: async () => undefined,
  }
  const log = createLog({ level: 'info', destination: { write: (line: string) => void logs.push(line) } })
  return { postman: new Postman(mailer, log, { pauses: [1, 1, 1], ...options }), sent, tries, logs }
}

describe('the postman', () => {
  test('tries again after a failure, and says so', async () => {
    const { postman, sent, logs } = setUp(async (_mail, tries) => {
      if (tries < 3) throw new Error('the server is away')
    })
    postman.post(mail('hello'))
    await waitFor(() => sent.length === 1)
    expect(logs).toHaveLength(2)
    expect(logs[0]).toContain('the server is away')
  })

  test('gives up loudly, without the code in the subject', async () => {
    const { postman, tries, logs } = setUp(() => Promise.reject(new Error('the server is away')))
    postman.post(mail('123456 is your Crier code'))
    await waitFor(() => logs.some((line) => line.includes('could not be sent"')))
    expect(tries.get('123456 is your Crier code')).toBe(4)
    expect(JSON.parse(logs.at(-1) ?? '{}')).toMatchObject({ level: 50, to: 'ada@example.com' })
    expect(logs.join('')).not.toContain('123456')
  })

  test('does not repeat what is refused for good', async () => {
    const { postman, tries, logs } = setUp(() => Promise.reject(new MailRefusedError('no such user')))
    postman.post(mail('hello'))
    await waitFor(() => logs.length === 1)
    expect(tries.get('hello')).toBe(1)
  })

  test('sends a few at a time; one that hangs holds up no other', async () => {
    let running = 0
    let most = 0
    const { postman, sent } = setUp(async ({ subject }) => {
      running += 1
      most = Math.max(most, running)
      if (subject === 'hangs') await new Promise(() => undefined)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
    })
    postman.post(mail('hangs'))
    for (let index = 0; index < 20; index += 1) postman.post(mail(`mail ${index}`))
    await waitFor(() => sent.length === 20)
    expect(most).toBe(3)
  })

  test('holds a bounded number, and says what it lost', async () => {
    const { postman, logs } = setUp(() => new Promise(() => undefined), { capacity: 5 })
    for (let index = 0; index < 10; index += 1) postman.post(mail(`mail ${index}`))
    // Three are under way, five wait.
    expect(logs.filter((line) => line.includes('a mail was lost'))).toHaveLength(2)
  })

  test('sends what waits when it closes, without waiting to try again', async () => {
    const { postman, sent, tries } = setUp(
      async ({ subject }, count) => {
        if (subject === 'fails' || count === 0) throw new Error('the server is away')
      },
      { pauses: [60_000] },
    )
    postman.post(mail('fails'))
    await waitFor(() => tries.get('fails') === 1)
    for (let index = 0; index < 8; index += 1) postman.post(mail(`mail ${index}`))
    await postman.close()
    expect(sent).toHaveLength(8)
    expect(tries.get('fails')).toBe(2)
  })
})
