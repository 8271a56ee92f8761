import { buffer } from 'node:stream/consumers'
import type { Clock } from '../../../../core/clock.ts'
import { ValidationFailed } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import type { Storage } from '../../../../storage/storage.ts'
import { postFiles } from '../../../media/assets/index.ts'
import { reportBrandingUpdated } from '../events.ts'
import type { ReportBrand } from '../report/model.ts'
import { reportBrandings, type BrandingRow } from '../tables.ts'
import type { ReportDomain } from '../../../../config/setting-readers.ts'
import { accentColors } from './contrast.ts'
import type { BrandingData, BrandingInput } from './schemas.ts'

/** Pictures are made small by the media library. A larger one is left out. */
const MAX_BYTES = 100_000

type Setting = Omit<BrandingRow, 'workspaceId' | 'updatedAt'>
const NONE: Setting = {
  logoAssetId: null,
  accentColor: null,
  companyName: null,
  website: null,
  linkDomain: null,
  footerText: null,
}

/** How the reports of a workspace look. */
export class ReportBranding {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #storage: Storage
  readonly #domains: readonly ReportDomain[]

  constructor(sql: Sql, clock: Clock, storage: Storage, domains: readonly ReportDomain[]) {
    this.#sql = sql
    this.#clock = clock
    this.#storage = storage
    this.#domains = domains
  }

  async get(workspaceId: string, sql: Sql = this.#sql): Promise<BrandingData> {
    const row = await reportBrandings.first(sql, { workspaceId })
    return row ?? { workspaceId, ...NONE, updatedAt: null }
  }

  /** Replaces all settings; absent ones are removed. @throws AppError validation_failed */
  async set(turn: Turn, { workspaceId, ...body }: BrandingInput): Promise<BrandingData> {
    const next: Setting = { ...NONE, ...body }
    if (next.linkDomain !== null && !this.#leadsHere(workspaceId, next.linkDomain)) throw unknownDomain()
    if (next.logoAssetId !== null) await this.#checkLogo(turn, next.logoAssetId)
    const row: BrandingRow = { workspaceId, ...next, updatedAt: new Date(this.#clock.now()).toISOString() }
    await reportBrandings.upsert(turn.sql, row, ['workspaceId'])
    turn.audit({ kind: 'workspace', id: workspaceId, details: { reportBranding: next } })
    turn.emit(reportBrandingUpdated, row)
    return row
  }

  /** The branding as reports show it. A deleted logo is left out. */
  async brandOf(workspaceId: string): Promise<ReportBrand> {
    const { accentColor, companyName, footerText, logoAssetId, website } = await this.get(workspaceId)
    const logos = logoAssetId === null ? undefined : await this.thumbnails(workspaceId, [logoAssetId])
    const logo = logoAssetId === null ? undefined : logos?.get(logoAssetId)
    return { accentColor, companyName, footerText, website, logo: logo ?? null }
  }

  /** The branding as pages for guests show it. */
  async pageBrandOf(workspaceId: string) {
    const { accentColor, companyName, logo } = await this.brandOf(workspaceId)
    return { name: companyName, logo, colors: accentColors(accentColor) }
  }

  /** The domain of links in mails with reports. Null for that of the server, also when the setting is no longer listed. */
  async linkDomain(workspaceId: string, sql: Sql = this.#sql): Promise<string | null> {
    const { linkDomain } = await this.get(workspaceId, sql)
    return linkDomain !== null && this.#leadsHere(workspaceId, linkDomain) ? linkDomain : null
  }

  /** Thumbnails of assets as WebP in Base64. Assets without one are left out. */
  async thumbnails(workspaceId: string, assetIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const refs = [...new Set(assetIds)].map((assetId) => ({ assetId }))
    const found = new Map<string, string>()
    for (const [assetId, { key }] of await postFiles(this.#sql, workspaceId, refs)) {
      const stream = await this.#storage.get(`${key}.thumbnail-small`)
      if (stream === undefined) continue
      const content = await buffer(stream)
      if (content.length <= MAX_BYTES) found.set(assetId, content.toString('base64'))
    }
    return found
  }

  /** Whether the operator has listed the domain: mails must not lead people to any domain that somebody enters. */
  #leadsHere(workspaceId: string, domain: string): boolean {
    return this.#domains.some(({ host, workspaceId: only }) => host === domain && (only ?? workspaceId) === workspaceId)
  }

  async #checkLogo({ sql, workspaceId }: Turn, assetId: string): Promise<void> {
    const file = (await postFiles(sql, workspaceId, [{ assetId }])).get(assetId)
    if (file?.media.kind === 'image') return
    const message =
      file === undefined ? 'must be a picture of the media library of this workspace' : 'must be a picture, not a video'
    throw ValidationFailed({ errors: [{ path: '/body/logoAssetId', code: 'not_a_picture', message }] })
  }
}

function unknownDomain() {
  const message =
    'does not lead to this server: its administrator has to point the domain at it and list it in REPORT_DOMAINS'
  return ValidationFailed({ errors: [{ path: '/body/linkDomain', code: 'unknown_domain', message }] })
}
