import { spawn, execFile, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { waitFor } from './wait.ts'
import { wordpressProgram } from './wordpress-program.ts'

/** A post as the database of the site has it. */
export interface StoredPost {
  readonly id: number
  readonly author: string
  readonly slug: string
  readonly status: string
  readonly title: string
  readonly content: string
  /** The content as readers see it. */
  readonly rendered: string
  readonly excerpt: string
  readonly commentStatus: string
  readonly format: string
  readonly sticky: boolean
  readonly featured: number
  readonly tags: readonly string[]
  readonly categories: readonly number[]
}

export interface StoredFile {
  readonly id: number
  readonly slug: string
  readonly type: string
  readonly altText: string
}

export interface StoredComment {
  readonly id: number
  readonly post: number
  readonly content: string
}

/** A running WordPress site. */
export interface WordPress {
  /** The same site is at `<url>/blog`. */
  readonly url: string
  readonly version: string
  /** Creates a user. */
  addUser(login: string, role: string): Promise<void>
  /** A new application password of a user. */
  applicationPassword(login: string, name: string): Promise<string>
  applicationPasswords(login: string): Promise<readonly { readonly name: string; readonly app_id: string }[]>
  /** Deletes all application passwords of a user. */
  revokePasswords(login: string): Promise<void>
  setOption(name: string, value: unknown): Promise<void>
  posts(): Promise<readonly StoredPost[]>
  media(): Promise<readonly StoredFile[]>
  comments(): Promise<readonly StoredComment[]>
  /**
   * Signs in on the pages of the site and decides about an application, as a browser without scripts does.
   * @param page the page for approving an application
   * @returns where the site sends the browser
   */
  decide(page: URL, login: string, decision?: 'approve' | 'reject'): Promise<URL>
  stop(): Promise<void>
}

const PEER = fileURLToPath(new URL('../peers/wordpress', import.meta.url))
const OWNER = { login: 'owner', password: 'a-password-of-the-owner' }
const run = promisify(execFile)

/** Starts MariaDB and a WordPress site with one administrator, `owner`. @throws Error when they are not unpacked or do not start */
export async function startWordPress(): Promise<WordPress> {
  const program = wordpressProgram()
  const { env, installDatabase, mariadbd, php, phpArgs, site, usr } = program
  // A path of a socket has at most 107 characters.
  const folder = mkdtempSync(join(tmpdir(), 'crier-wp-'))
  const data = join(folder, 'data')
  const content = join(folder, 'content')
  const socket = join(folder, 'db.sock')
  for (const name of ['plugins', 'themes', 'uploads']) mkdirSync(join(content, name), { recursive: true })
  const children: Running[] = []
  const all = {
    ...process.env,
    ...env,
    CRIER_WORDPRESS_CONFIG: join(PEER, 'wp-config.php'),
    CRIER_WORDPRESS_SITE: site,
    CRIER_WORDPRESS_CONTENT: content,
    CRIER_WORDPRESS_SOCKET: socket,
  }
  mkdirSync(join(folder, 'scripts'))
  const settings = [
    ...phpArgs,
    '-d',
    `opcache.file_cache=${join(folder, 'scripts')}`,
    '-d',
    'upload_max_filesize=2M',
    '-d',
    'post_max_size=3M',
    '-d',
    'memory_limit=256M',
    // Warnings would come before the JSON of a reply.
    '-d',
    'display_errors=0',
  ]
  const command = async <T>(name: string, input: object = {}): Promise<T> => {
    const { stdout } = await run(php, [...settings, join(PEER, 'peer.php'), name, JSON.stringify(input)], {
      env: all,
      maxBuffer: 50_000_000,
    })
    return JSON.parse(stdout) as T
  }
  const stop = async () => {
    for (const child of children.toReversed()) await child.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    // MariaDB does not start as root unless it is told to.
    const asRoot = process.getuid?.() === 0 ? [`--user=${userInfo().username}`] : []
    const database = ['--no-defaults', `--basedir=${usr}`, `--datadir=${data}`, ...asRoot]
    await run(installDatabase, [...database, '--auth-root-authentication-method=normal', '--skip-test-db'], {
      env: all,
    })
    children.push(
      start(
        mariadbd,
        [
          ...database,
          '--skip-networking',
          `--socket=${socket}`,
          `--pid-file=${join(folder, 'db.pid')}`,
          `--lc-messages-dir=${join(usr, 'share/mysql')}`,
          `--plugin-dir=${join(usr, 'lib/mysql/plugin')}`,
          `--character-sets-dir=${join(usr, 'share/mysql/charsets')}`,
          '--innodb-buffer-pool-size=32M',
          '--innodb-flush-log-at-trx-commit=0',
        ],
        all,
      ),
    )
    const sql = (text: string) =>
      run(join(usr, 'bin/mariadb'), ['--no-defaults', `--socket=${socket}`, '-uroot', '-e', text], { env: all })
    await waitFor(async () => children[0]?.failed() ?? (await succeeds(() => sql('select 1'))), {
      what: 'MariaDB to start',
    })
    await sql('create database wordpress character set utf8mb4')
    const { version } = await command<{ version: string }>('install', { title: 'A real site', ...OWNER })
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    children.push(start(php, [...settings, '-S', `127.0.0.1:${port}`, '-t', site, join(PEER, 'router.php')], all))
    await waitFor(async () => children[1]?.failed() ?? (await succeeds(() => fetch(`${url}/wp-login.php`))), {
      what: 'PHP to start',
    })
    return {
      url,
      version,
      addUser: async (login, role) => void (await command('user', { login, role, password: passwordOf(login) })),
      applicationPassword: async (login, name) =>
        (await command<{ password: string }>('password', { login, name })).password,
      applicationPasswords: (login) => command('passwords', { login }),
      revokePasswords: async (login) => void (await command('revoke', { login })),
      setOption: async (name, value) => void (await command('option', { name, value })),
      posts: () => command('posts'),
      media: () => command('media'),
      comments: () => command('comments'),
      decide,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function passwordOf(login: string): string {
  return login === OWNER.login ? OWNER.password : `a-password-of-${login}`
}

async function decide(page: URL, login: string, decision: 'approve' | 'reject' = 'approve'): Promise<URL> {
  const signIn = new URL('wp-login.php', page.href.replace(/wp-admin\/.*$/, ''))
  const signedIn = await fetch(signIn, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie: 'wordpress_test_cookie=WP%20Cookie%20check' },
    body: new URLSearchParams({ log: login, pwd: passwordOf(login), testcookie: '1' }),
  })
  const cookie = signedIn.headers
    .getSetCookie()
    .map((set) => set.split(';')[0])
    .join('; ')
  if (!cookie.includes('wordpress_logged_in')) throw new Error(`${login} cannot sign in: ${signedIn.status}`)
  const shown = await fetch(page, { headers: { Cookie: cookie } })
  const html = await shown.text()
  if (shown.status !== 200) throw new Error(`the page says: ${html.replaceAll(/<[^>]+>|\s+/g, ' ').slice(0, 500)}`)
  const fields = [...html.matchAll(/<input type="(?:hidden|text)"[^>]* name="([^"]*)"[^>]* value="([^"]*)"/g)].map(
    ([, name = '', value = '']) => [name, unescaped(value)] as [string, string],
  )
  const decided = await fetch(page, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie: cookie },
    body: new URLSearchParams([...fields, [decision, '1']]),
  })
  const location = decided.headers.get('location')
  if (location === null) throw new Error(`the site has not redirected: ${decided.status}`)
  return new URL(location)
}

function unescaped(text: string): string {
  return text.replaceAll('&#038;', '&').replaceAll('&amp;', '&').replaceAll('&quot;', '"')
}

interface Running {
  stop(): Promise<void>
  /** @throws Error when it has ended */
  failed(): undefined
}

function start(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Running {
  const child: ChildProcess = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4_000)))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  return {
    failed: () => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${program} has ended: ${said}`)
      return undefined
    },
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function succeeds(work: () => Promise<unknown>): Promise<boolean> {
  return work().then(
    () => true,
    () => false,
  )
}
