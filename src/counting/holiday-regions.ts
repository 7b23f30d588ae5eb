/**
 * The countries and states whose public holidays the library `opening_hours` has. It does not export
 * this list; a test compares it with the library's source. A line is a country and its states, most
 * of them as in ISO 3166-2, in lower case.
 */
const REGIONS = `
ar
at bl kä nö oö sb sm ti va wi
au act nsw nt qld sa tas vic wa
be de fr nl
bg
br ac al am ap ba ce df es go ma mg ms mt pa pb pe pi pr rj rn ro rr rs sc se sp to
by
ca ab bc mb nb nl ns nt nu on pe qc sk yt
ch ag ai ai-ap ai-go ai-ob ai-sh ai-sr ar be bl bs fr ge gl gr gr-ab gr-bn gr-eb gr-ib gr-lq gr-ml gr-ms gr-pd gr-ps gr-ss gr-vm ju lu ne nw ow sg sh so sz tg ti ur vd vs zg zh
ci
cn xz
cz jc-cb jc-ck jc-jh jc-pi jc-pt jc-st jc-ta jm-bk jm-bm jm-bo jm-bv jm-ho jm-vy jm-zn ka-ch ka-kv ka-so kr-hk kr-jc kr-na kr-rk kr-tu li-cl li-jn li-lb li-sm mo-br mo-fm mo-ki mo-nj mo-op mo-ov ol-je ol-oc ol-pr ol-pv ol-su pa-cr pa-pu pa-sy pa-uo pl-do pl-kt pl-pj pl-pm pl-ps pl-ro pl-tc pr st-be st-bn st-kh st-kl st-ko st-mb st-me st-nb st-pb st-ph st-pz st-ra us-cv us-dc us-ln us-lt us-mo us-tp us-ul vy-hb vy-ji vy-pe vy-tr vy-zr zl-km zl-uh zl-vs zl-zl
de bb be bw by hb he hh mv mv-abs mv-bbs ni nw rp sh sl sn st th
dk
ee
es an an-al an-ca an-co an-gr an-hl an-ja an-ma an-se ar ar-hu ar-te ar-zg as cb ce cl cm cn ct ex ga ib mc md ml nc pv ri vc
fi
fr 57 67 68 ar bf bl bt co cv ge gf gp hf if mf mq na nc no oc pc pf pl re sp wf yt za zb zc
gb eng nir sct wls
ge
gg
gi
gr
hr
hu
ie
im
it ab ba cl cm er fv la li lo ma mo pi pu sa si to tr-bz tr-tn um va ve
je
jp
lt
lu
lv
mc
md
mt
mx
na
nf
nl mi no zu
no
nz
pl ds kp lb ld lu ma mz op pd pk pm sk sl wn wp zp
pm
pt
ro ab ag ar bc bh bn br bt bu bv bz cj cl cs ct cv db dj gj gl gr hd hr if il is mh mm ms nt ot ph sb sj sm sv tl tm tr vl vn vs
rs
ru adygea altai bashkortostan bryansk buryatia chechnya chuvashia dagestan ingushetia kabardino_balkaria kalmykia karachay_cherkess karelia komi sakha saratov tatarstan tuva udmurtia
se
si vr zr
sj
sk bc bl ki ni pv ta tc zi
sm
ua
us ak al ar as az ca co ct dc de fl ga gu hi ia id il in ks ky la ma md me mi mn mo ms mt nc nd ne nh nj nm nv ny oh ok or pa pr ri sc sd tn tx ut va vi vt wa wi wv wy
vn
xa
za
`;

/** States by country. */
export const HOLIDAY_REGIONS: ReadonlyMap<string, readonly string[]> = new Map(
  REGIONS.trim()
    .split('\n')
    .map((line) => {
      const [country = '', ...states] = line.split(' ');
      return [country, states];
    }),
);
