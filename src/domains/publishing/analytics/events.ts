import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Nullable, Type } from '../../../core/schema.ts'
import { BrandingView } from './branding/schemas.ts'

export const analyticsAccountUpdated = event({
  name: 'analyticsAccount.updated',
  summary: 'A user asked for fresh figures of an account, or the request has ended',
  scope: 'analytics:read',
  data: Type.Object({
    accountId: Type.String({ ...Id, description: 'The social account' }),
    isWaiting: Type.Boolean({ description: 'Whether the platform has not replied to the request yet' }),
    collectedAt: Nullable(
      Type.String({ format: 'date-time', description: 'When the platform last replied. Null before the first reply' }),
    ),
    failureCount: Type.Integer({
      description: 'How many readings have failed since the last reply. 0 if it has worked',
    }),
  }),
  example: { accountId: EXAMPLE.accountId, isWaiting: false, collectedAt: EXAMPLE_TIME, failureCount: 0 },
})

export const reportBrandingUpdated = event({
  name: 'reportBranding.updated',
  summary: 'The report branding of the workspace has changed',
  scope: 'analytics:read',
  data: BrandingView,
  example: {
    workspaceId: EXAMPLE.workspaceId,
    logoAssetId: EXAMPLE.assetId,
    accentColor: '#0b5cad',
    companyName: 'Acme',
    website: 'acme.example',
    linkDomain: null,
    footerText: 'Confidential',
    updatedAt: EXAMPLE_TIME,
  },
})

export const contentRecordDeleted = event({
  name: 'contentRecord.deleted',
  summary: 'The analytics record of a post was deleted',
  scope: 'analytics:read',
  data: Type.Object({
    contentRecordId: Type.String({ ...Id, description: 'The record' }),
    accountId: Type.String({ ...Id, description: 'The social account that published the post' }),
  }),
  example: { contentRecordId: EXAMPLE.contentRecordId, accountId: EXAMPLE.accountId },
})
