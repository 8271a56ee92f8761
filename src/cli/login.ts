import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { send } from '../sdk/client.ts'
import { UsageError } from './arguments.ts'
import { logIn, logOut } from './access.ts'
import { DEFAULT_SERVER, forgetLogin, readLogin, saveLogin, type Environment } from './settings.ts'

export const LOGIN_HELP = `Save an access for the commands that follow, readable by you alone

Usage: crier login [--server <url>] [--email <address>]
       crier login [--server <url>] --api-key <key>

  --server <url>            the server; otherwise CRIER_URL, http://localhost:3000
  --email <address>         log in with a password, which is asked for, as is the code of an authenticator app
                            (both can be lines of standard input)
  --api-key <key>           save an API key instead; - reads it from standard input
`

/**
 * `crier login`.
 * @returns the text to print
 * @throws UsageError, CrierError, ConnectionError
 */
export async function login(args: readonly string[], environment: Environment): Promise<string> {
  const { values } = parse(args)
  if (values.help) return LOGIN_HELP
  const server = values.server ?? environment.server ?? DEFAULT_SERVER
  if (values['api-key'] !== undefined) {
    const apiKey = values['api-key'] === '-' ? await ask('API key: ', true) : values['api-key']
    const me = await send({ url: server, apiKey }, 'GET /api/users/me')
    saveLogin(environment.file, { server, apiKey })
    return `Logged in to ${server} as ${emailOf(me.body)}\n`
  }
  const email = values.email ?? (await ask('E-mail: ', false))
  const password = await ask('Password: ', true)
  const { deviceFile } = environment
  const askForCode = () => ask('Code from your authenticator app, or a recovery code: ', true)
  saveLogin(environment.file, await logIn(server, { askForCode, deviceFile, email, password }))
  return `Logged in to ${server} as ${email}\n`
}

/** `crier logout`. */
export async function logout(environment: Environment): Promise<string> {
  const saved = readLogin(environment.file)
  if (saved === undefined) return 'Not logged in\n'
  try {
    await logOut(saved)
  } finally {
    forgetLogin(environment.file)
  }
  return `Logged out of ${saved.server}\n`
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', short: 'h' },
        server: { type: 'string' },
        email: { type: 'string' },
        'api-key': { type: 'string' },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0], { cause: error })
  }
}

function emailOf(body: unknown): string {
  return (body as { data?: { email?: string } } | undefined)?.data?.email ?? 'somebody'
}

/** The lines of a standard input that is no terminal. One reader, because a second one would miss buffered lines. */
let piped: AsyncIterator<string> | undefined

async function readLine(question: string): Promise<string> {
  piped ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const { done, value } = await piped.next()
  if (done === true) throw new UsageError(`${question.replace(': ', '').toLowerCase()} was not given`)
  return value.trim()
}

/** Asks on the terminal and hides the input of a secret. Without a terminal, it reads a line. */
function ask(question: string, secret: boolean): Promise<string> {
  const { stdin, stderr } = process
  if (!stdin.isTTY) return readLine(question)
  const lines = createInterface({ input: stdin, output: secret ? undefined : stderr, terminal: true })
  stderr.write(question)
  return new Promise((resolve, reject) => {
    let answered = false
    lines.once('line', (line) => {
      answered = true
      if (secret) stderr.write('\n')
      lines.close()
      resolve(line.trim())
    })
    lines.once('close', () => {
      if (!answered) reject(new UsageError(`${question.replace(': ', '').toLowerCase()} was not given`))
    })
  })
}
