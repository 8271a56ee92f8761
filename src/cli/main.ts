import { parseArguments, UsageError, type Parsed } from './arguments.ts'
import { accessOf } from './access.ts'
import { commandsOf, findCommand, readDocument, type Command } from './commands.ts'
import { commandHelp, domainHelp, generalHelp } from './help.ts'
import { login, logout } from './login.ts'
import { fieldOf, render } from './render.ts'
import { didYouMean } from './did-you-mean.ts'
import { readEnvironment } from './settings.ts'
import { fileToSend, keep, progressOn } from './files.ts'
import {
  ConnectionError,
  CrierError,
  openFile,
  send,
  type ClientOptions,
  type ClientReply,
  type UntypedRequest,
} from '../sdk/client.ts'

/** The exit codes of `crier`. */
export const EXIT = { done: 0, refused: 1, usage: 2, unreachable: 3 } as const

/**
 * The command line: `crier <domain> <command> [options]`.
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  const asJson = args.includes('--json')
  // The reader of a pipe may stop early: `crier … | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  try {
    await run(args)
    return EXIT.done
  } catch (error) {
    return fail(error, asJson)
  }
}

async function run(given: readonly string[]): Promise<void> {
  // `crier help streams create` means `crier streams create --help`.
  const args = given[0] === 'help' && given.length > 1 ? [...given.slice(1), '--help'] : given
  const [domain, name, ...rest] = args
  if (domain === '--version' || domain === '-v') {
    print(`${readDocument().info.version}\n`)
    return
  }
  if (domain === 'login') return print(await login(args.slice(1), readEnvironment()))
  if (domain === 'logout') return print(await logout(readEnvironment()))
  const document = readDocument()
  const commands = commandsOf(document)
  if (domain === undefined || isHelp(domain)) {
    print(generalHelp(document, commands))
    if (domain === undefined) throw new UsageError('')
    return
  }
  if (!commands.some((command) => command.domain === domain))
    throw new UsageError(
      unknown(
        'domain',
        domain,
        commands.map((one) => one.domain),
        'crier --help',
      ),
    )
  if (name === undefined || isHelp(name)) {
    print(domainHelp(document, commands, domain))
    if (name === undefined) throw new UsageError('')
    return
  }
  const command = findCommand(commands, domain, name)
  if (command === undefined) {
    const known = commands.filter((one) => one.domain === domain).map((one) => one.name)
    throw new UsageError(unknown('command', name, known, `crier ${domain} --help`))
  }
  await call(command, rest)
}

async function call(command: Command, args: readonly string[]): Promise<void> {
  const parsed = parseArguments(command, args)
  if (parsed.help) return print(commandHelp(command))
  const progress = parsed.progress === undefined && process.stderr.isTTY ? true : parsed.progress === true
  const reporter = progress ? progressOn(parsed.json) : undefined
  const request = {
    path: parsed.path,
    query: parsed.query,
    ...(parsed.body === undefined ? {} : { body: parsed.body }),
    ...(parsed.ifMatch === undefined ? {} : { ifMatch: parsed.ifMatch }),
    ...(parsed.idempotencyKey === undefined ? {} : { idempotencyKey: parsed.idempotencyKey }),
    ...(parsed.file === undefined ? {} : await sending(command, parsed.file, parsed.type)),
    ...(reporter && { onProgress: reporter.update }),
  }
  const access = accessOf(parsed, readEnvironment())
  try {
    if (command.download) await receive(access, command, request, parsed.output)
    else show(await send(access, command.route, request), parsed)
  } finally {
    reporter?.end()
  }
}

async function sending({ upload }: Command, path: string, type: string | undefined): Promise<UntypedRequest> {
  const file = await fileToSend(path, type)
  return upload === 'raw' ? { content: file } : { file }
}

async function receive(
  access: ClientOptions,
  { route }: Command,
  request: UntypedRequest,
  output: string | undefined,
): Promise<void> {
  if (output === undefined && process.stdout.isTTY) {
    throw new UsageError('the reply is a file: set its path with --output, or use a pipe')
  }
  const reply = await openFile(access, route, request)
  await keep(reply, output)
}

function show({ body }: ClientReply, { get, json }: Pick<Parsed, 'get' | 'json'>): void {
  if (body instanceof Uint8Array) process.stdout.write(body)
  else if (get.length > 0) print(get.map((path) => `${fieldOf(body, path)}\n`).join(''))
  else if (json) print(body === undefined ? '' : `${JSON.stringify(body)}\n`)
  else print(`${render(body, process.stdout.columns ?? 160)}\n`)
}

function fail(error: unknown, asJson: boolean): number {
  if (error instanceof UsageError) {
    if (error.message !== '') complain(`crier: ${error.message}\n`)
    return EXIT.usage
  }
  if (error instanceof CrierError) {
    complain(asJson ? `${JSON.stringify(errorBody(error))}\n` : describe(error))
    return error.status >= 500 ? EXIT.unreachable : EXIT.refused
  }
  if (error instanceof ConnectionError) {
    complain(`crier: ${error.message}\n`)
    return EXIT.unreachable
  }
  if (error instanceof TypeError && (error as { code?: string }).code === 'ERR_INVALID_URL') {
    complain('crier: the server address is not a valid URL\n')
    return EXIT.usage
  }
  complain(`crier: ${(error as Error).stack ?? String(error)}\n`)
  return EXIT.unreachable
}

function describe(error: CrierError): string {
  const rows = error.errors.map(({ path, message }) => `  ${flagOf(path)} ${message}\n`)
  const wait = error.retryAfter === undefined ? '' : `  try again in ${error.retryAfter} s\n`
  const where =
    error.requestId === undefined ? '' : `  request ${error.requestId}${error.docUrl ? `, see ${error.docUrl}` : ''}\n`
  const hint =
    error.code === 'unauthorized'
      ? '  run crier login, or set CRIER_API_KEY\n'
      : error.hint === undefined
        ? ''
        : `  ${error.hint}\n`
  return `crier: ${error.message} (${error.code})\n${rows.join('')}${wait}${hint}${where}`
}

function errorBody({ status, code, message, requestId, docUrl, errors, details, hint }: CrierError): object {
  return { status: false, httpStatus: status, code, message, requestId, docUrl, errors, details, hint }
}

/** The option for a JSON pointer: `/body/workspaceId` is `--workspace-id`. */
function flagOf(pointer: string): string {
  const [, place, name, ...rest] = pointer.split('/')
  if (name === undefined || !['path', 'query', 'body'].includes(place ?? '')) return pointer
  return `--${name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()}${rest.length > 0 ? ` (${rest.join('.')})` : ''}`
}

function unknown(kind: string, given: string, known: readonly string[], help: string): string {
  const hint = didYouMean(given, known)
  return `unknown ${kind} ${given}${hint === '' ? '.' : hint} See ${help}`
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h' || word === 'help'
}

function print(text: string): void {
  process.stdout.write(text)
}

function complain(text: string): void {
  process.stderr.write(text)
}
