/* partition/stream/block_design.c: see partition/stream/block_design.h. */
#include "partition/stream/block_design.h"

#include <assert.h>
#include <stdlib.h>

enum { SHARES = 10000 };

/* A block of groups, a letter each, for every part. */
static const char *const blocks_of[BLOCK_DESIGN_PARTS + 1] = {
    [3] = "ab bc ac",
    [4] = "cde acd bcd abe",
    [5] = "beghi bcdgi acefh abfgi adefh",
    [6] = "bdf aef cde abe acd bcf",
    [7] = "bcf adf cde abe acg bdg efg",
    [8] = "adejlnrsuw dghnqrtvwx bcjlmpqstv abceghmpux bcdkmnoprw fghijklosx bcdfimnprw aefikoqtuv",
    [9] = "dhij adfj cehj befh abci cfgi cdei bdgj aegh",
    [10] = "bcdgmo adefjp cefjlp fgkmnp achikn dhikln bfhiop eghijm bejkno abglmo",
    [11] = "bcfgiqvzAB aehijmrtzA bcdgntuwxy abcegjkpsB ikopswxyzA bcghlmortB dhmnruwxyB diklnpsuzA adefjnoquv "
           "aefjlqvwxy fhkmpqrstv",
    [12] = "cgkl fhjl bdgh abjl cdjk deil aceh ahik bcfi befk adfg egij",
    [13] = "bdgk hijk aekm efgi cgjm dejl abfj cfkl dfhm aghl bceh acdi bilm",
    [14] = "dejk ahjm agkl cfjl bgij abhl acei dhil fikm abdf bchk cdgm belm efgh",
    [15] = "dgklnqwzB eghmqstvx cehijlszD abdfhipsB efjnptwxA ijkoqsxAC dejoruvBC ablrtuxzA cdmtxyABD himnrsuwy "
           "ghikotvAC abegjkmqy flmopvyzC cfgkpqruD abcnovwCD",
    [16] = "bchjl abdmq achkp eglmp dklnq hikmo cfjmn cdeoq bcgil bjnop ghjkn afglo aeijn dfipq befhk dghjq",
    [17] = "ahmort behkls acklpq bgloru cdikpr egoqrs cmpstu cfghnp deilmt aefjnu dhijqu dfikno bcejop gjkmtu "
           "abdgis fjlnrs bfmnqt",
    [18] = "bhntxzACF eglnqsuwx cgjklpuzG dghimtABD dijknxyDE cdipqswDF abdiluCDG afgnorvxF bcgopvyCE bemyBCEFG "
           "defiorvzD bfjkqrswC amqswyzBE fhlrtuyAE cfmnprxBG jklmouvBF acehjkptA hoqstvwAG",
    [19] = "dgior acdmq egpqs cejlr eklmo bcgkn dflnq bijoq abgls cfhos djkps ajnop imnrs ahkqr fghjm bfmpr "
           "bdehn chilp aefik",
    [20] = "cfirsyzF alopsuvz bhnstzBE bcehimpq aefgortB gmqsxzCD abhkowxF fklmqrvw dfjnprxE djmqtuBF cgiknuwE "
           "dejkswzA acdijoCD ciltvxAB elnvCDEF egpuxyAF bdghjlvy amnoqyAE bfhruACD kptwyBCD",
    [21] = "cdfnt bclqu ehnqr afiqs glrst dhmsu cimor fhjlo jkmqt dgopq deikl acghk fkpru aeotu bhipt cejps "
           "abdjr bknos almnp befgm gijnu",
    [22] = "cekpu ejlrt defhn cglnq aghtu acfjo hjmpq akmnr chirs fkqst inopt fmopr egmos bfgpr dgijk abeiq "
           "filmu adlps bjnsu bhklo doqru bcdmt",
    [23] = "aikuwxAGJP dghlnrsEJL egioswyBFO jmpvyBHJKN abfhkryBDE acgkqszIKN hjmruxEFIP choqrvAEGH clqtuxyBLP "
           "cdijmnpqwD bdfnouxKNP dnyzABCGIM hirtwCEKMN gsuvxCDHMP oqtwzBDIJN bcefqCFJMO eijpquzIOP bfilvwzHIL "
           "elADFGKLNO ajklmopCLM ehmprxzEFO bfgjmpstAG adekntvFHO",
    [24] = "gjkmox hikntw jmpvwz ahjmny abotuv cdgilv abgqsw abdkpr cklquz bcejlm cflorw egrtyz eiopqy fghnpu "
           "bcehln efksvy deuwxy abcely hnqrvx abfixz clpstx dfjmqt dhnosz ijmrsu",
    [25] = "bcfijvzJK fmrwBFHKL cekruzCGI ahjklnuAB aimpuEFIJ cghirxBDJ ikqswyACJ bghjkmtCF bjsuADHIL klnvxCEHL "
           "acghpyzHL fhtuxyBIK adfkopCDK dghoquvwI dgilnotIJ demqtFGHL elmnvyDFG aprstvABC clnqtwzDE bflnpqrsK "
           "abejpqwxG eioqBGHJL efghsAEGK bdjoryzBE cdmosxzAF",
    [26] = "gjk bfj klm acm fhi bcd bil egl aij eik efm agh abe cej deh cgi bhk adk chl dim afl djl bgm cfk hjm "
           "dfg",
    [27] = "dioq cdjm abef ejlq fjkq ajop cder bgmq cklo bcin hlmp cfgp ehno akmn bglo achq bdkp ailr dfln npqr "
           "eimp fmor egkr adgh gijn bhjr fhik",
    [28] = "binstA fhjnqt nqvxyB dkmtuB almnou aehzAB dfilyz cghmty ceknrz fimrvA bmpqwz dgnpwA egikoq adqrsy "
           "abfgkx jkowyA gjsuvz aeltvw dejmsx acijpB oprtxz befpuy cfoswB hiruwx bgjlrB clquxA hklpsv bcdhov",
    [29] = "clqrtB bgotux dgiqsw klmpqt fgkyzB ehikru bcjkvw bluwzA bdfhtA fprvwx adkorz abfnqu aimxAB cefgmz "
           "delnxy cknsxA bepsuB eoqvyA bimrsy hmnowB instvz gjnprA acdhop cipuyz hjqxyz aejtwy djmuvB aghlsv "
           "fijlos",
    [30] = "efnqw bdhqv achsw cjmoq imnvx elsuv fmpsy hiloy aeijr adkmu bjstx hjnpu abgny diptw gikqs eghmt "
           "gouwx afotv cdexy fhkrx cgprv jkvwy cklnt dfgjl dnors alpqx blmrw qrtuy bekop bcfiu",
    [31] = "agjlnC aimqux asvwBE dlpqrE dknuvA fjruwy dmtwzC acfkpz klmyBD ahrtAD bcuCDE celwxA inopwD eikrsC "
           "cnqsty efhmnE hpvxyC giyzAE jkotxE dfgsxD cgmorv bnrxzB cdhijB foqABC egptuB ejqvzD bjmpsA bghkqw "
           "hlosuz abdeoy bfiltv",
    [32] = "prwxzC fgiuAC eghkpE elnowA dfjkwB iklqvz beimrB cgovxB bgjntz jlmuxE azABDE bdoqCE aefqtx hltyBC "
           "fhmosz ackmnC kortuD gmqwyD dmptvA adglrs bksxyA abhuvw dhinxD fnrvyE efjptB cistwE cdeuyz ejsvCD "
           "aijopy bcflpD chjqrA npqsuB",
};

/* The same, and the groups' shares of the vertices in ten-thousandths. */
static const struct lean_design {
    const char *blocks, *shares;
} lean_of[BLOCK_DESIGN_PARTS + 1] = {
    [8] = {"abcef bcdg defh efgij agh bchij adij cfj", "1429 1345 82 1429 981 447 1429 1429 87 1342"},
    [9] = {"abce abf cf bcdg defh efgi agh bchi adi", "1665 813 853 1251 837 828 1251 1251 1251"},
    [14] = {"abdk bcel cdfm degn aefh bfgij cghk dhijl eijkm fkln aglm bhmn acijn hj",
            "769 769 769 769 769 769 769 769 426 346 769 769 769 769"},
    [15] = {"abdem bcfn cdegho defip afghj bghikl cijm dejkln fklmo ghmnp aino bjop acklp ef hl",
            "769 769 769 493 276 769 126 646 769 769 367 402 769 769 769 769"},
    [16] = {"acfjlp cflmp am aegln dfgip efhkp ceio abhil ghjmo bfnop bdejm ijkmn cdhn adklo bcgk fl",
            "538 717 887 717 717 707 717 717 717 369 717 349 518 717 717 179"},
    [17] = {"abcf acgn bfgn cdeho defgijp fghkq abhijl cijkm dekln fglmo hmnp ijnoq abkop clpq abdemq ail ej",
            "215 850 1064 272 366 850 215 638 76 562 638 638 638 1064 638 638 638"},
    [22] = {"abefpr bcgqs cdhrt defisu efgjtv aghku bhilv acijm bdjkn cefklo dglmp efhmnq ginor hjops ikpqt jlqru "
            "kmrsv alnst bmotu cnpuv adoqv fj",
            "476 476 476 476 226 254 476 476 476 476 476 476 476 476 476 476 476 476 476 476 476 476"},
    [23] = {"abcfqs bcdgrt dehsu efitv fgjuw aghkv bchilw adijm bcejkno dfklp eglmq fhmnor ginops hjpqt ikqru "
            "jlrsv kmstw alnotu bcmpuv dnoqvw aeprw io cu",
            "476 261 219 476 476 476 476 476 476 476 476 476 476 257 219 476 476 476 476 476 476 476 476"},
    [24] = {"abefpr bep af bcgqs cdhrtu defisv efgjtuw aghkv bhilw acijm bdjkn cefklo dglmp efhmnq ginor hjops "
            "ikpqtu jlqrv kmrsw alnstu bmotuv cnpvw adoqw eou",
            "420 420 494 494 173 247 494 494 494 494 494 494 494 494 494 420 494 420 494 489 1 494 494"},
    [25] = {"abcfrt abfu cru bcdghsv deituw efjvx fghkwyz aghilmx bcijnyz adjko bceklmp dflmnq eghnor fiops "
            "ghjpqtu ikqrv jlmrsw knstux lmotuvyz anpvw bcoqwx dprxyz aeqsyz hn jmz",
            "545 447 95 455 455 545 268 187 455 455 455 391 64 455 455 455 455 545 455 185 359 455 455 455 331 123"},
    [26] = {"abcfp bfpr acr bcdgqst cgu bdqu dehrv efistuw fgjvx aghkw bchilx adijm bcejkn dfklo eglmp fhmnq ginor "
            "hjopstu ikpqv jlqrw kmrstux alnstuv bcmovw dnpwx aeoqx ht",
            "582 536 68 459 436 582 459 436 436 436 436 436 436 436 436 582 459 582 186 182 91 436 436 436"},
    [32] = {"abdimst bcejnu cdfkov deglpw efhmqx fginry ghjostz hikpuA ijlqvB jkmrwC klnstxD lmouyE mnpvzF anoqwA "
            "boprxB cpqstyC dqruzD erstvAE fstuwBF aguvxC bhvwyD ciwxzE djxyAF aekyzB bflzAC cgmABD dhnBCE eioCDF "
            "afjpDE bgkqEF achlrF tF",
            "323 323 323 323 323 323 323 323 323 323 323 323 323 323 323 323 323 323 140 170 323 323 323 323 323 "
            "323 323 323 323 323 323 323"},
};

static int group_of(char letter)
{
    return letter >= 'a' ? letter - 'a' : letter - 'A' + 26;
}

static void read_shares(const char *text, block_design *design)
{
    char *end = NULL;
    for (int g = 0; g < design->points; ++g) {
        design->share[g] = text != NULL ? (double)strtol(text, &end, 10) / SHARES : 1.0 / design->points;
        text = end;
    }
}

bool block_design_find(int parts, block_design_kind kind, block_design *design)
{
    *design = (block_design){.parts = parts};
    if (parts < 0 || parts > BLOCK_DESIGN_PARTS) {
        return false;
    }
    const char *blocks = kind == BLOCK_DESIGN_LEAN ? lean_of[parts].blocks : blocks_of[parts];
    if (blocks == NULL) {
        return false;
    }
    int part = 0;
    for (const char *at = blocks; *at != '\0'; ++at) {
        if (*at == ' ') {
            ++part;
            continue;
        }
        const int group = group_of(*at);
        assert(group < BLOCK_DESIGN_POINTS && part < parts);
        design->holders[group] |= UINT32_C(1) << part;
        design->points = group >= design->points ? group + 1 : design->points;
    }
    read_shares(kind == BLOCK_DESIGN_LEAN ? lean_of[parts].shares : NULL, design);
    return true;
}
