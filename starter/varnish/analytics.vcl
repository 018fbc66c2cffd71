# Arguments and cookies that only scripts in the browser read: without them a page is the same.
# Written from proscenium/analytics.toml of the whole stack on 2026-11-29. Add your own in
# IGNORE_ARGUMENTS and IGNORE_COOKIES.

include "./ignored.vcl";

sub drop_analytics {
    call drop_ignored;
    if (req.url ~ "\?") {
        set req.url = regsuball(req.url,
            "(?<=[?&])(" +
            "_ga|_gl|dclid|gad_[a-z]+|gbraid|gclid|gclsrc|srsltid|utm_[a-z_]+|wbraid" +
            "|(matomo|mtm)_[a-z_]+" +
            "|(piwik|pk)_(campaign|cid|content|group|keyword|kwd|medium|placement|source)" +
            "|fbclid|igshi?d?|msclkid|ttclid|twclid|li_fat_id|rdt_cid|ScCid|epik|ys?clid" +
            "|_openstat|mc_[ce]id|mkt_tok|_kx|_hsenc|_hsmi|hsa_[a-z]+|dm_i|ef_id|s_kwcid" +
            "|vero_(conv|id)|wickedid|oly_(anon|enc)_id|_branch_match_id|_bta_[ct]id" +
            "|trk_(contact|msg|module|sid)|rb_clickid|ndclid|tblci" +
            ")(=[^&]*)?(&|$)", "");
        set req.url = regsub(req.url, "[?&]$", "");
    }
    if (req.http.Cookie) {
        set req.http.Cookie = regsuball(";" + req.http.Cookie,
            "; *(" +
            "_ga(_[A-Z0-9]+)?|_gid|_(dc_)?g(at|tm)(_[^=;]*)?|_gcl_[a-z]+|_gac_[^=;]*" +
            "|__utm[a-z]+|__gads|__gpi(_optout)?|__eoi|FPLC|FPAU|_pk_[^=;]*|mtm_[a-z_]+" +
            "|_fb[cp]|_cl[cs]k|_uet[sv]id(_exp)?|_tt_[a-z_]+|_ttp|_twclid|li_fat_id" +
            "|_rdt_uuid|_scid(_r)?|_pin_unauth|_ym_[a-z]+|_hj[^=;]*|__hs[a-z]+|hubspotutk" +
            "|ajs_[^=;]*|amp_[^=;]*|amplitude_[^=;]*|mp_[^=;]*_mixpanel|ph_[^=;]*_posthog" +
            "|_dd_s|intercom-[^=;]*|_mkto_trk|__kla_id|_lfa|sbjs_[a-z_]+|_vis_opt_[^=;]*" +
            "|_vwo_[^=;]*|AMCVS?_[^=;]*|s_(cc|sq|fid|vi|nr)|__cf_bm|_cfuvid" +
            "|[cC]ookie[cC]onsent[^=;]*|Optanon[A-Za-z]+|cookieyes-consent|cky-[a-z-]+" +
            "|(eu|eupub)consent-v2|addtl_consent|usprivacy|didomi_token|axeptio_[a-z_]+" +
            "|cmplz_[^=;]*|borlabs-cookie|moove_gdpr_popup|cookie_notice_accepted" +
            "|cookielawinfo-[^=;]*|viewed_cookie_policy|tarteaucitron|klaro|has_js" +
            ") *=[^;]*", "");
        set req.http.Cookie = regsub(req.http.Cookie, "^[; ]+", "");
        if (req.http.Cookie == "") {
            unset req.http.Cookie;
        }
    }
}
