import { Id, Input, named, Nullable, Text, Timestamp, Type, type Static } from '../../../../core/schema.ts'

const fields = {
  logoAssetId: Type.String({
    ...Id,
    description: 'A picture of the media library, for the cover. Reports have a copy of at most 320 pixels',
  }),
  accentColor: Type.String({
    pattern: '^#[0-9a-fA-F]{6}$',
    description:
      'The color of surfaces, lines and links, such as `#0b5cad`. Text has a darker shade of a light color, with a contrast of at least 4.5 to 1 with white, and text upon the color is black or white',
  }),
  companyName: Text(1, 100, { description: 'The sender of the report. The name of the workspace by default' }),
  website: Type.String({
    pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$',
    maxLength: 100,
    description: 'A domain that the cover shows, such as `acme.example`',
  }),
  linkDomain: Type.String({
    pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$',
    maxLength: 253,
    description:
      'The domain of the links in mails with reports, such as `reports.acme.example`. The administrator of the server points it at the server and lists it in `REPORT_DOMAINS`. Links have the domain of the server without it, and when it is listed no more',
  }),
  footerText: Text(1, 200, { description: 'A line at the end of each page of the PDF, and of the HTML page' }),
}

export const BrandingQuery = Input({ workspaceId: Id })
export const BrandingBody = Input({
  workspaceId: Id,
  logoAssetId: Type.Optional(Nullable(fields.logoAssetId)),
  accentColor: Type.Optional(Nullable(fields.accentColor)),
  companyName: Type.Optional(Nullable(fields.companyName)),
  website: Type.Optional(Nullable(fields.website)),
  linkDomain: Type.Optional(Nullable(fields.linkDomain)),
  footerText: Type.Optional(Nullable(fields.footerText)),
})
export type BrandingInput = Static<typeof BrandingBody>

export const BrandingView = named(
  'ReportBranding',
  Type.Object({
    workspaceId: Id,
    logoAssetId: Nullable(fields.logoAssetId),
    accentColor: Nullable(fields.accentColor),
    companyName: Nullable(Type.String({ description: 'Null for the name of the workspace' })),
    website: Nullable(Type.String({ description: 'The domain on the cover' })),
    linkDomain: Nullable(Type.String({ description: 'The domain of the links in mails. Null for that of the server' })),
    footerText: Nullable(Type.String({ description: 'The line at the end of pages' })),
    updatedAt: Nullable(Type.String({ ...Timestamp, description: 'Null if it was never set' })),
  }),
)
export type BrandingData = Static<typeof BrandingView>
