import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import PostalMime, { type Email } from 'postal-mime'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startSmtpServer, type SmtpServer } from '../../test/support/smtp-server.ts'
import { DAY, ManualClock } from '../core/clock.ts'
import { MailRefusedError, type Mailer } from './mailer.ts'
import { OutboxMailer } from './outbox-mailer.ts'
import { SmtpMailer } from './smtp-mailer.ts'
import { passwordResetMail, securityMail, verificationMail, welcomeMail } from './templates.ts'

const ID = 'a-mail'
const FROM = 'Crier <crier@example.org>'
const ada = { email: 'ada@example.com', name: 'Ada <b>Lovelace</b>' }

interface Driver {
  readonly mailer: Mailer
  /** The received mails, as a mail program reads them. */
  arrived(): Promise<Email[]>
  stop(): Promise<void>
}

async function smtp(): Promise<Driver> {
  const server = await startSmtpServer()
  return {
    mailer: new SmtpMailer(`smtp://127.0.0.1:${server.port}`, FROM),
    arrived: () => Promise.all(server.deliveries.map(({ raw }) => PostalMime.parse(raw))),
    stop: () => server.close(),
  }
}

async function outbox(): Promise<Driver> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-outbox-'))
  return {
    mailer: new OutboxMailer(join(folder, 'outbox'), FROM, new ManualClock()),
    arrived: async () => {
      const names = (await readdir(join(folder, 'outbox'))).sort()
      return Promise.all(names.map(async (name) => PostalMime.parse(await readFile(join(folder, 'outbox', name)))))
    },
    stop: () => rm(folder, { recursive: true }),
  }
}

describe.each([
  ['SMTP', smtp],
  ['the outbox', outbox],
])('a mail sent with %s', (_name, start) => {
  let driver: Driver

  beforeEach(async () => {
    driver = await start()
  })
  afterEach(async () => {
    await driver.mailer.close()
    await driver.stop()
  })

  test('arrives with sender, recipient, subject, date, id, text and HTML', async () => {
    await driver.mailer.send(verificationMail(ada, '042137'), ID)
    const [mail] = await driver.arrived()
    expect(mail).toMatchObject({
      from: { address: 'crier@example.org', name: 'Crier' },
      to: [{ address: 'ada@example.com' }],
      subject: '042137 is your Crier code',
    })
    expect(mail?.text).toContain('042137')
    expect(mail?.html).toContain('042137')
    // The same for every attempt, so that mail programs can drop duplicates.
    expect(mail?.messageId).toBe(`<${ID}@example.org>`)
    expect(Date.parse(mail?.date ?? '')).toBeGreaterThan(0)
  })

  test('keeps characters of every script, and long lines', async () => {
    const text = 'Zażółć gęślą jaźń — 日本語 🎉'
    const long = 'word '.repeat(400).trim()
    await driver.mailer.send(
      {
        to: ada.email,
        subject: text,
        text: `${text}\n${long}\n.\n..two`,
        html: `<p>${text}</p>`,
      },
      ID,
    )
    const [mail] = await driver.arrived()
    expect(mail?.subject).toBe(text)
    expect(mail?.text?.trim()).toBe(`${text}\n${long}\n.\n..two`)
    expect(mail?.html).toContain(text)
  })

  test('contains users’ texts as plain text, never as markup or headers', async () => {
    await driver.mailer.send(
      welcomeMail({ email: ada.email, name: 'Eve</p><script>x</script>\r\nBcc: eve@example.com' }, 'https://x.example'),
      ID,
    )
    const [mail] = await driver.arrived()
    expect(mail?.html).not.toContain('<script>')
    expect(mail?.bcc ?? []).toEqual([])
    expect(mail?.to).toHaveLength(1)
  })

  test('arrives once, even if many are sent at once', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => driver.mailer.send(verificationMail(ada, String(100_000 + index)), ID)),
    )
    const subjects = (await driver.arrived()).map(({ subject }) => subject)
    expect(new Set(subjects).size).toBe(20)
  })
})

describe('the outbox', () => {
  test('names files by time and recipient, makes them private, and leaves no drafts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'crier-outbox-'))
    const mailer = new OutboxMailer(folder, FROM, new ManualClock(Date.parse('2026-11-01T12:00:00.500Z')))
    await mailer.send(verificationMail({ email: '../../etc/ada@example.com' }, '123456'), ID)
    await mailer.send(verificationMail(ada, '123456'), ID)
    const names = (await readdir(folder)).sort()
    expect(names).toEqual([
      '2026-11-01T12-00-00.500Z-000001-.._.._etc_ada@example.com.eml',
      '2026-11-01T12-00-00.500Z-000002-ada@example.com.eml',
    ])
    expect((await stat(join(folder, names[1] ?? ''))).mode & 0o777).toBe(0o600)
    await rm(folder, { recursive: true })
  })
})

describe('SMTP', () => {
  let server: SmtpServer
  afterEach(() => server.close())

  test('authenticates with the user and password of the URL', async () => {
    server = await startSmtpServer({ name: 'crier@example.org', password: 'p@ss word' })
    const good = new SmtpMailer(`smtp://crier%40example.org:p%40ss%20word@127.0.0.1:${server.port}`, FROM)
    await good.send(welcomeMail(ada, 'https://x.example'), ID)
    expect(server.deliveries).toMatchObject([{ from: 'crier@example.org', to: ['ada@example.com'] }])
    await good.close()
    const bad = new SmtpMailer(`smtp://crier:wrong@127.0.0.1:${server.port}`, FROM)
    const failure = await bad.send(welcomeMail(ada, 'https://x.example'), ID).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(Error)
    expect(failure).not.toBeInstanceOf(MailRefusedError)
    expect(bad.destination).not.toContain('wrong')
    await bad.close()
  })

  test('distinguishes permanent from temporary refusals', async () => {
    server = await startSmtpServer()
    const mailer = new SmtpMailer(`smtp://127.0.0.1:${server.port}`, FROM)
    server.refusals.push('451 greylisted', '554 no such user')
    const now = await mailer.send(welcomeMail(ada, 'https://x.example'), ID).catch((error: unknown) => error)
    expect(now).toBeInstanceOf(Error)
    expect(now).not.toBeInstanceOf(MailRefusedError)
    await expect(mailer.send(welcomeMail(ada, 'https://x.example'), ID)).rejects.toBeInstanceOf(MailRefusedError)
    await mailer.send(welcomeMail(ada, 'https://x.example'), ID)
    expect(server.deliveries).toHaveLength(1)
    await mailer.close()
  })
})

describe('the templates', () => {
  test('contain the code or link in text and in HTML', () => {
    const reset = passwordResetMail(ada, 'https://crier.example', 'tok_en-1')
    for (const part of [reset.text, reset.html]) {
      expect(part).toContain('https://crier.example/reset-password?token=tok_en-1')
    }
    expect(reset.html).not.toContain('<b>Lovelace')
    const linked = securityMail(ada, { kind: 'sign_in_linked', provider: 'Google' })
    expect(linked.subject).toContain('Google')
    expect(linked.text).toContain('If this was not you')
  })
})

test('the outbox deletes old mails and keeps other files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'crier-outbox-'))
  const clock = new ManualClock()
  const mailer = new OutboxMailer(folder, FROM, clock, 30)
  await writeFile(join(folder, 'notes.txt'), 'mine')
  await mailer.send({ to: 'ada@example.com', subject: 'old', text: '', html: '' }, 'one')
  clock.advance(29 * DAY)
  await mailer.send({ to: 'ada@example.com', subject: 'new', text: '', html: '' }, 'two')
  await mailer.sweep()
  expect(await readdir(folder)).toHaveLength(3)
  clock.advance(2 * DAY)
  await mailer.sweep()
  expect((await readdir(folder)).toSorted()).toEqual([expect.stringContaining('ada@example.com'), 'notes.txt'])
  await mailer.close()
  await rm(folder, { recursive: true })
})
