import { ValidationFailed } from '../../../core/errors.ts'
import { Slices } from '../../../core/slices.ts'
import type { Sql } from '../../../core/sql.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import { check } from '../../../platforms/rules/engine.ts'
import type { Limits } from '../../../platforms/rules/limits.ts'
import type { Problem } from '../../../platforms/rules/problem.ts'
import { postFiles, refKey, type PostFile } from '../../media/assets/index.ts'
import { postingAccounts, PUBLISHING_STATUSES, type PostingAccount } from '../../social/accounts/index.ts'
import {
  allRefs,
  contentFor,
  AccountNotUsable,
  PlatformRefusesPost,
  fixViews,
  type LoadedPost,
  type MediaRef,
  type PostBody,
  type TargetCheckData,
} from '../posts/index.ts'
import { type Resources, type Wanted, accountLimits } from '../planning/index.ts'

const NO_FILES: ReadonlyMap<string, PostFile> = new Map()

/** Checks posts against the rules of their platforms and accounts. */
export class PostChecks {
  readonly #directory: PlatformDirectory

  constructor(directory: PlatformDirectory) {
    this.#directory = directory
  }

  /**
   * The accounts and files that a post names.
   * @param known what was read before, for many posts. Accounts are used if all of them are there
   * @throws AppError validation_failed for an unknown account or file
   */
  async resources(
    {
      known,
      sql,
      workspaceId,
    }: { readonly sql: Sql; readonly workspaceId: string; readonly known?: Partial<Resources> },
    body: PostBody,
    wanted: readonly Wanted[],
  ): Promise<Resources> {
    const refs = allRefs(
      body,
      wanted.map(({ override }) => override),
    )
    const ids = wanted.map(({ accountId }) => accountId)
    const all = known?.accounts
    const accounts =
      all !== undefined && ids.every((id) => all.has(id)) ? all : await postingAccounts(sql, workspaceId, ids)
    const files = known?.files ?? (refs.length === 0 ? NO_FILES : await postFiles(sql, workspaceId, refs))
    const errors = [
      ...ids.flatMap((id, index) => {
        const path = `/body/targets/${index}/accountId`
        if (ids.indexOf(id) !== index) return [{ path, code: 'duplicate', message: 'names an account twice' }]
        const status = accounts.get(id)?.status
        if (status !== undefined && status !== 'removed') return []
        return [{ path, code: 'unknown', message: 'must be a social account of the workspace' }]
      }),
      ...refs
        .filter((ref) => !files.has(refKey(ref)))
        .map(({ assetId, renditionId }) => {
          const what = renditionId == null ? `asset ${assetId}` : `rendition ${renditionId} of asset ${assetId}`
          return { path: '/body/media', code: 'unknown', message: `there is no ${what} that is ready to use` }
        }),
    ]
    if (errors.length > 0) throw ValidationFailed({ errors })
    return { accounts, files }
  }

  /** Accounts and files by their ids. Those that do not exist are left out. */
  async load(
    sql: Sql,
    workspaceId: string,
    { ids, refs }: { readonly ids: readonly string[]; readonly refs: readonly MediaRef[] },
  ): Promise<Resources> {
    return {
      accounts: await postingAccounts(sql, workspaceId, [...new Set(ids)]),
      files: await postFiles(sql, workspaceId, refs),
    }
  }

  /** Everything that limits what an account can publish. */
  limits(account: PostingAccount): Limits {
    return accountLimits(this.#directory, account)
  }

  /** What each platform says to the post. */
  check(body: PostBody, wanted: readonly Wanted[], resources: Resources): TargetCheckData[] {
    return this.#checked(body, wanted, resources).map(({ view }) => view)
  }

  /** The same, with the changes that remove problems without the user. Runs in slices. */
  async checkWithFixes(body: PostBody, wanted: readonly Wanted[], resources: Resources) {
    const slices = new Slices()
    const views: (TargetCheckData & { fixes: ReturnType<typeof fixViews> })[] = []
    for (const one of wanted) {
      for (const { content, limits, platform, problems, view } of this.#checked(body, [one], resources)) {
        await slices.pause()
        views.push({ ...view, fixes: fixViews(platform, limits, content, problems) })
        await slices.pause()
      }
    }
    return views
  }

  #checked(body: PostBody, wanted: readonly Wanted[], { accounts, files }: Resources) {
    return wanted.flatMap(({ accountId, override }) => {
      const account = accounts.get(accountId)
      if (account === undefined) return []
      const { platform } = this.#directory.require(account.platform)
      const limits = this.limits(account)
      const content = contentFor(body, override, files)
      const problems = check(platform, limits, content)
      const of = (severity: Problem['severity']) => problems.filter((one) => one.severity === severity).map(failureView)
      const failures = of('error')
      const isValid = failures.length === 0
      const view = { accountId, platform: account.platform, isValid, failures, warnings: of('warning') }
      return [{ platform, limits, content, problems, view }]
    })
  }

  /**
   * Refuses a post that cannot be published.
   * @throws AppError platform_validation_failed with the failures of each account; account_not_usable
   */
  require(body: PostBody, wanted: readonly Wanted[], resources: Resources): void {
    const targets = this.check(body, wanted, resources)
    const refused = targets.filter(({ isValid }) => !isValid)
    if (refused.length > 0) {
      const errors = refused.flatMap(({ accountId, failures }) => {
        const index = wanted.findIndex((one) => one.accountId === accountId)
        return failures.map(({ message, rule }) => ({ path: `/body/targets/${index}`, code: rule, message }))
      })
      throw PlatformRefusesPost({ errors, details: { targets } })
    }
  }

  /**
   * Refuses a stored post that cannot be published as it is.
   * @throws AppError platform_validation_failed, account_not_usable
   */
  async requireStored(sql: Sql, { post, targets }: Pick<LoadedPost, 'post' | 'targets'>): Promise<void> {
    const resources = await this.resources({ sql, workspaceId: post.workspaceId }, post.body, targets)
    this.require(post.body, targets, resources)
    this.requireUsable(targets, resources)
  }

  /** @throws AppError account_not_usable */
  requireUsable(wanted: readonly Wanted[], { accounts }: Pick<Resources, 'accounts'>): void {
    for (const { accountId } of wanted) {
      const account = accounts.get(accountId)
      if (account === undefined || PUBLISHING_STATUSES.includes(account.status)) continue
      const why = account.statusReason ?? `Its status is ${account.status}.`
      throw AccountNotUsable({
        message: `Nothing can be published to ${account.handle ?? account.name}. ${why}`,
        details: { accountId, status: account.status },
      })
    }
  }
}

/** A problem as the API shows it. */
export function failureView({ actual, fix, limit, message, pointer, rule, severity, source, unit }: Problem) {
  const { origin, seen, title } = source
  const values = limit !== null && typeof limit === 'object' ? [...limit] : limit
  return { rule, severity, allowed: values, actual, unit, path: pointer, message, fix, origin, source: title, seen }
}
